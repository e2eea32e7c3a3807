// The collector's metrics for --metrics. Names, units and what to watch: docs/operations.md.
#pragma once

#include <cstdint>

#include "schemas/host/metric.h"
#include "target-collector/metrics/collector_counts.h"

namespace perfleet {

// Every family exists from the start, with 0, so that a first increase is visible.
void add_collector_metrics(const CollectorCounts& counts, std::uint64_t log_suppressed, MetricPage& page);

}  // namespace perfleet
