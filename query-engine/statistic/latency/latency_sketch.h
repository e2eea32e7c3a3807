// `latency --sketch`: moments and percentiles of many values in one pass.
#pragma once

#include "query-engine/scan/scan.h"
#include "query-engine/statistic/latency/latency.h"
#include "query-engine/statistic/latency/latency_source.h"
#include "storage/number/moments.h"
#include "storage/number/rank_sketch.h"

namespace perfleet {

struct ValueDistribution {
    Moments moments;  // exact
    RankSketch sketch;

    void add(std::uint64_t value) {
        moments.add(value);
        sketch.add(value);
    }
    void merge(const ValueDistribution& other) {
        moments.merge(other.moments);
        sketch.merge(other.sketch);
    }
};

// Of the source's values in the time range. Errors: those of the store.
[[nodiscard]] Result<ValueDistribution> read_distribution(const Scan& scan, const ValueSource& source);

// Adds the row of a source that has values.
void add_sketch_row(const Scan& scan, const ValueSource& source, const ValueDistribution& values,
                    const LatencyOptions& options, Answer& answer);

}  // namespace perfleet
