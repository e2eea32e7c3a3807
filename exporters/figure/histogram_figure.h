// The answer of `latency --histogram` as a figure.
//
// Pure functions.
#pragma once

#include <cstdint>

#include "exporters/figure/figure.h"
#include "query-engine/statistic/answer/answer.h"

namespace perfleet {

enum class HistogramShape : std::uint8_t {
    kLinear,      // one bar for each bucket; the height is its count
    kLog2,        // the same for powers of two, all of equal width
    kCumulative,  // up to 100 %: the bucket's share dark, the share of buckets before it light
};

// `histogram`: rows of from, to, count, so_far, so_far_share. `summary`: the row of `latency` over the same values, for
// the title and the marks of median and 95th percentile. Values beyond the last bucket get a bar of their own at the
// right. An answer without rows gives a sheet that says so.
[[nodiscard]] Figure histogram_figure(const Answer& histogram, const Answer& summary, HistogramShape shape);

}  // namespace perfleet
