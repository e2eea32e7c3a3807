// The options of `latency`: kbench, runs, sketch, bootstrap, table, histogram, bucket, bar-width, mode, skip,
// confidence, percentiles, error, converged. Options that the chosen view doesn't use are rejected.
#pragma once

#include "daemon/option/option.h"
#include "query-engine/statistic/latency/latency.h"

namespace perfleet {

[[nodiscard]] const OptionTable<LatencyOptions>& latency_options();

}  // namespace perfleet
