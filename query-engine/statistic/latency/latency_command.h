// The options of `latency`: kbench, runs, sketch, bootstrap, table, histogram, bucket, mode, skip, confidence,
// percentiles, error, converged. Those that the chosen view doesn't use are refused.
#pragma once

#include "daemon/option/option.h"
#include "query-engine/statistic/latency/latency.h"

namespace perfleet {

[[nodiscard]] const OptionTable<LatencyOptions>& latency_options();

}  // namespace perfleet
