// The answer of `latency --histogram` as a figure.
//
// Pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "exporters/figure/figure.h"
#include "query-engine/statistic/answer/answer.h"

namespace perfleet {

enum class HistogramShape : std::uint8_t {
    kLinear,      // a bar a bucket, as high as it holds values
    kLog2,        // the same, of powers of two, all of one width
    kCumulative,  // up to 100 %: each bucket's own share dark, what came before it light
};

// `histogram`: rows of from, to, count, so_far, so_far_share. `summary`: the one row of `latency` over the same values,
// for the title and the marks of median and 95th percentile. What lies beyond the last bucket stands as a bar of its
// own at the right. Of an answer without rows: a sheet that says so.
[[nodiscard]] Figure histogram_figure(const Answer& histogram, const Answer& summary, HistogramShape shape);

}  // namespace perfleet
