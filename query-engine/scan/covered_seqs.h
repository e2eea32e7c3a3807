// The batches of a series whose rows a summary already counts; their blocks aren't read.
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

// Whether a block's rows lie outside a tick range, inside it, or on both sides of one of its ends. first and last are
// included.
enum class Side : std::uint8_t { kOutside, kAcross, kInside };
[[nodiscard]] Side side_of(Ticks first, Ticks last, TickRange range);

class CoveredSeqs {
public:
    // `seqs` must not overlap the ranges that were added before.
    void add(std::span<const SeqRange> seqs);
    [[nodiscard]] bool has(Seq seq) const { return has_any_of({seq, seq}); }
    [[nodiscard]] bool has_any_of(const SeqRange& range) const;

private:
    std::map<Seq, Seq> ranges_;  // from first to last seq, both included; disjoint
};

}  // namespace perfleet
