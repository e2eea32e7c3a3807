// `latency --heat-map`: how many values of one source lie in each of equal parts of time and of equal steps of values.
//
// Rows: time (UTC of the part's begin), begin, end (of the part, from the first value on), from, to (of the values),
// count; ascending by begin, then from; parts without values have no row. Steps go from the least value to the one that
// holds the 99th percentile; what lies beyond them has one more row a part of time. Where values came without times
// (row_clock.h) parts are of equal numbers of values, and begin and end count those.
#pragma once

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

// Of an answer without rows: heat_map_columns(""). `unit` is that of the values, as stored.
[[nodiscard]] std::vector<AnswerColumn> heat_map_columns(const std::string& unit, const std::string& time_unit = "ns");

// `step`: of the values; 0: chosen. Errors: kUsage (a step that makes more than kHeatMapStepsMax of them); those of
// reading.
[[nodiscard]] Result<Done> add_heat_map(const Scan& scan, const ValueSource& source, std::uint64_t step,
                                        Answer& answer);

}  // namespace perfleet
