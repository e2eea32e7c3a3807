// The batches of a series that a summary stands for: their rows aren't read.
//
// A plain value; built by one thread, then read by many.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "schemas/columns/seal.h"
#include "schemas/vocabulary/time.h"

namespace perfleet {

using TickRange = std::pair<Ticks, Ticks>;  // [first, second)

// Where rows between these ticks, both included, lie.
enum class Side : std::uint8_t { kOutside, kAcross, kInside };
[[nodiscard]] Side side_of(Ticks first, Ticks last, TickRange range);

class CoveredSeqs {
public:
    // None of them has been added.
    void add(std::span<const SeqRange> seqs);
    [[nodiscard]] bool has(Seq seq) const { return has_any_of({seq, seq}); }
    [[nodiscard]] bool has_any_of(const SeqRange& range) const;

private:
    std::map<Seq, Seq> ranges_;  // the last one's by the first one's; disjoint
};

}  // namespace perfleet
