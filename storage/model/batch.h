// An admitted batch on its way from the gateway to the store.
//
// Plain values that own their memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/columns/seal.h"
#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/series.h"
#include "schemas/vocabulary/time.h"
#include "storage/model/keys.h"

namespace perfleet {

// The rows of one series in the batch: `block` is what storage/block encodes, ready to be stored.
struct BatchSeries {
    Series series;
    std::uint32_t row_count = 0;
    Ticks first_ticks;
    Ticks last_ticks;
    std::string block;
};

// A batch without its rows: kept for each batch, so that ledgers can be computed for any range of time.
struct BatchRecord {
    Seq seq;
    EpochNumber epoch;
    BucketNumber bucket;
    std::uint32_t seal = 0;
    std::uint64_t oldest_retained_seq = 0;
    std::vector<CountEntry> counts;  // cumulative
    std::vector<SeqRange> dropped;
    std::vector<ClockPoint> clock_points;
    struct Rows {
        Series series;
        std::uint32_t row_count = 0;
        Ticks first_ticks;
        Ticks last_ticks;

        friend bool operator==(const Rows&, const Rows&) = default;
    };
    std::vector<Rows> rows;  // one entry a series, in the order of the batch

    friend bool operator==(const BatchRecord&, const BatchRecord&) = default;
};

struct AdmittedBatch {
    BatchKey key;
    BatchRecord record;  // record.seq == key.seq; record.rows matches `series`
    std::vector<BatchSeries> series;
};

}  // namespace perfleet
