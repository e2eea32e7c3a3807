// The answer of `latency --heat-map` as a figure: time to the right, values upwards, darker cells for more values.
//
// Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exporters/figure/figure.h"
#include "query-engine/statistic/answer/answer.h"
#include "query-engine/statistic/answer/value_unit.h"

namespace perfleet {

// The rows of the answer as a grid.
struct HeatMap {
    struct Part {
        std::uint64_t low = 0;
        std::uint64_t high = 0;
        friend auto operator<=>(const Part&, const Part&) = default;
    };
    struct Cell {
        std::uint32_t time = 0;  // of times
        std::uint32_t step = 0;  // of steps
        std::uint64_t count = 0;
    };
    std::string begin_time;   // UTC; empty: values have no times
    ValueUnit unit;           // of values
    std::vector<Part> times;  // [low, high), only those with values, ascending
    std::vector<Part> steps;  // [low, high], only those with values, ascending
    bool has_rest = false;    // the last step counts values beyond the others
    bool is_log = false;      // steps are quarters of powers of two (query-engine/statistic/latency/heat_map.h)
    std::vector<Cell> cells;  // as the rows
    std::uint64_t count = 0;
    std::uint64_t count_max = 0;  // of a cell
};

// `answer`: rows of time, begin, end, from, to, count (heat_map.h).
[[nodiscard]] HeatMap heat_map_of(const Answer& answer);

// `summary`: the row of `latency` over the same values. An answer without rows gives a sheet that says so.
[[nodiscard]] Figure heat_map_figure(const Answer& answer, const Answer& summary);

}  // namespace perfleet
