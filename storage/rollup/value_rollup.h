// A rollup of values: how the values of a series' rows are distributed, by cells of time, over whole batches of one
// epoch. Moments are exact; of the distribution it knows as much as a RankSketch.
//
// Byte layout, golden bytes and why it is so: storage/FORMAT.md. Plain values; what is decoded is untrusted bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/columns/seal.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/time.h"
#include "storage/model/rollup_cover.h"
#include "storage/number/moments.h"
#include "storage/rollup/rollup_columns.h"

namespace perfleet {

struct ValueRollup {
    // As its bounds were when the rollup was made.
    struct Cell : CellBounds {
        Ticks first_ticks;  // of its rows, both included
        Ticks last_ticks;
        Moments moments;  // of at least one value
        std::uint32_t buckets_end = 0;

        friend bool operator==(const Cell&, const Cell&) = default;
    };
    // Those of a cell follow each other in `buckets`.
    struct Bucket {
        std::uint32_t number = 0;     // of RankSketch
        std::uint64_t row_count = 0;  // at least 1

        friend bool operator==(const Bucket&, const Bucket&) = default;
    };

    EpochNumber epoch;
    std::uint64_t row_count = 0;
    std::vector<SeqRange> seqs;   // as those of Rollup
    std::vector<Cell> cells;      // ascending; none overlaps another
    std::vector<Bucket> buckets;  // of a cell ascending

    friend bool operator==(const ValueRollup&, const ValueRollup&) = default;
};

// Equal rollups give equal bytes.
[[nodiscard]] std::string encode_rollup(const ValueRollup& rollup);

// Everything that the comments above promise holds in what it gives; sums of values lie between what their least and
// greatest value and their number allow. Errors: kTruncated, kCorrupt, kInvalid, kTooLarge, kUnsupported (a newer
// version, named).
[[nodiscard]] Result<ValueRollup> decode_value_rollup_untrusted(std::string_view bytes_untrusted);

}  // namespace perfleet
