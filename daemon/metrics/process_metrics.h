// Metrics of every program's own process, under Prometheus's standard names.
#pragma once

#include "schemas/host/metric.h"

namespace perfleet {

// CPU, memory, descriptors, start time. Leaves out what the kernel doesn't report.
void add_process_metrics(MetricPage& page);

}  // namespace perfleet
