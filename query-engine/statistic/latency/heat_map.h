// `latency --heat-map`: counts one source's values by time (equal parts) and by value (equal steps).
//
// Rows: time (UTC of the part's begin), begin, end (of the part, from the first value on), from, to (of the values),
// count; ascending by begin, then from; empty cells have no row. Steps go from the least value to the one that holds
// the 99th percentile; values beyond it get one more row a part of time. Where these differ a hundredfold, steps are
// quarters of powers of two instead, for all values. If values have no times (row_clock.h), parts hold equal numbers of
// values, and begin and end count values.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "query-engine/scan/scan.h"
#include "query-engine/statistic/answer/answer.h"
#include "query-engine/statistic/latency/latency_source.h"

namespace perfleet {

inline constexpr std::uint64_t kHeatMapSlices = 100;
inline constexpr std::uint64_t kHeatMapSteps = 40;
inline constexpr std::uint64_t kHeatMapStepsMax = 1'000;
inline constexpr std::uint64_t kHeatMapSpanMax = 100;  // of equal steps: the 99th percentile by the least value

// Quarters of powers of two, counted from 0: 0, 1, 2, 3, 4, 5, 6, 7, 8 to 9, 10 to 11, … 16 to 19, …
[[nodiscard]] constexpr std::uint64_t quarter_of(std::uint64_t value) {
    const auto shift = static_cast<std::uint64_t>(value < 4 ? 0 : std::bit_width(value) - 3);
    return 4 * shift + (value >> shift);
}
// Its least value; that of the next one minus 1 is its greatest, for the last, too.
[[nodiscard]] constexpr std::uint64_t quarter_begin(std::uint64_t quarter) {
    return quarter < 8 ? quarter : (4 + quarter % 4) << (quarter / 4 - 1);
}

// The columns. An answer without rows has heat_map_columns(""). `unit` is the values' stored unit.
[[nodiscard]] std::vector<AnswerColumn> heat_map_columns(const std::string& unit, const std::string& time_unit = "ns");

// `step`: in the values' stored unit, of equal steps; 0: chosen automatically. Errors: kUsage (a step that makes more
// than kHeatMapStepsMax of them); those of reading.
[[nodiscard]] Result<Done> add_heat_map(const Scan& scan, const ValueSource& source, std::uint64_t step,
                                        Answer& answer);

}  // namespace perfleet
