// The options of `latency` as text: kbench, sketch, table, histogram (log2 or linear), bucket, mode (bernat,
// sel4bench-legacy), skip, confidence (percent), error (percent), settled (percent), percentiles ("50,99.9").
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "query-engine/statistic/latency.h"

namespace perfleet {

[[nodiscard]] bool is_latency_option(std::string_view name);

// Options of other commands are passed over; those that the chosen view doesn't use are refused. Errors: kUsage names
// the option.
[[nodiscard]] Result<LatencyOptions> parse_latency(const std::map<std::string, std::string>& options);

}  // namespace perfleet
