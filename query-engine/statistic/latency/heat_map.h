// `latency --heat-map`: counts one source's values by time (equal parts) and by value (equal steps).
//
// Rows: time (UTC of the part's begin), begin, end (of the part, from the first value on), from, to (of the values),
// count; ascending by begin, then from; empty cells have no row. Steps go from the least value to the one that holds
// the 99th percentile; values beyond it get one more row a part of time. If values have no times (row_clock.h), parts
// hold equal numbers of values, and begin and end count values.
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

// The columns. An answer without rows has heat_map_columns(""). `unit` is the values' stored unit.
[[nodiscard]] std::vector<AnswerColumn> heat_map_columns(const std::string& unit, const std::string& time_unit = "ns");

// `step`: in the values' stored unit; 0: chosen automatically. Errors: kUsage (a step that makes more than
// kHeatMapStepsMax of them); those of reading.
[[nodiscard]] Result<Done> add_heat_map(const Scan& scan, const ValueSource& source, std::uint64_t step,
                                        Answer& answer);

}  // namespace perfleet
