// Converts a sealed batch into what the store writes: each series becomes a block, the rest a record.
//
// For the gateway, after admit() has passed the batch. What encode_block relies on is checked here again: a faulty
// batch gives an error, never an assertion.
#pragma once

#include <cstdint>
#include <span>

#include "schemas/columns/seal.h"
#include "schemas/vocabulary/error.h"
#include "storage/model/batch.h"

namespace perfleet {

// A batch whose parts are borrowed. `seal` is the collector's; it isn't computed again.
struct SealedBatch {
    TargetId target;
    BatchHeader header;
    std::uint32_t seal = 0;
    std::uint64_t oldest_retained_seq = 0;
    std::span<const SeriesView> series;
    std::span<const CountEntry> counts;
    std::span<const SeqRange> dropped;
    std::span<const ClockPoint> clock_points;
};

// Errors: kInvalid (ranges out of order, a series or column twice, unknown kind), kTooLarge.
[[nodiscard]] Result<AdmittedBatch> make_admitted_batch(const SealedBatch& batch);

}  // namespace perfleet
