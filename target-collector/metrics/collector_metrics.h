// What the collector shows of itself on --metrics. Names, units and what to watch: docs/operations.md.
#pragma once

#include <cstdint>

#include "schemas/host/metric.h"
#include "target-collector/metrics/collector_counts.h"

namespace perfleet {

// Every family is there from the start, with 0, so that a first increase is seen as one.
void add_collector_metrics(const CollectorCounts& counts, std::uint64_t log_suppressed, MetricPage& page);

}  // namespace perfleet
