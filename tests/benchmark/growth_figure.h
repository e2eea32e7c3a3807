// What growth_cost measured, drawn: CPU time over rows, and over series, both on scales of powers of ten.
//
// Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "exporters/figure/figure.h"

namespace perfleet {

struct GrowthPoint {
    std::uint64_t row_count = 0;
    std::uint64_t series_count = 0;
    double exact_cpu_s = 0;  // from every row
    double cpu_s = 0;        // with summaries
};

struct Growth {
    std::vector<GrowthPoint> by_rows;    // of one series
    std::vector<GrowthPoint> by_series;  // of as many rows
};

[[nodiscard]] Figure growth_figure(const Growth& growth);

}  // namespace perfleet
