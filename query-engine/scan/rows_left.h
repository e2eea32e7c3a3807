// Which rows of a series are still to be read where rollups stand for others: ticks by batch.
//
// A plain value; built by one thread, then read by many.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "schemas/columns/seal.h"
#include "schemas/vocabulary/time.h"

namespace perfleet {

using TickRange = std::pair<Ticks, Ticks>;  // [first, second)

// Where rows between these ticks, both included, lie.
enum class Side : std::uint8_t { kOutside, kAcross, kInside };
[[nodiscard]] Side side_of(Ticks first, Ticks last, TickRange range);

class RowsLeft {
public:
    // Group 0: all batches that no rollup covers. Of these rows in `all` are left.
    explicit RowsLeft(TickRange all) : groups_{{all}} {}

    // Of the batches in these seqs only rows in `ranges` are left; none where there are no ranges. None of them is in
    // a group yet.
    void cover(std::span<const SeqRange> seqs, std::vector<TickRange> ranges);
    // Whether any seq of these is in a group.
    [[nodiscard]] bool is_covered(std::span<const SeqRange> seqs) const;

    [[nodiscard]] std::size_t group_of(Seq seq) const;
    [[nodiscard]] std::span<const TickRange> ranges(std::size_t group) const { return groups_[group]; }
    // Whether rows between these ticks, both included, may be left of the group.
    [[nodiscard]] bool may_have(std::size_t group, Ticks first, Ticks last) const;

private:
    struct Cover {
        Seq last;
        std::size_t group = 0;
    };
    std::vector<std::vector<TickRange>> groups_;
    std::map<Seq, Cover> covers_;  // by first seq; disjoint
};

}  // namespace perfleet
