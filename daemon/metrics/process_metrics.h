// What every program measures about its own process, under the names that Prometheus has for them.
#pragma once

#include "schemas/host/metric.h"

namespace perfleet {

// CPU, memory, descriptors, start. What the kernel doesn't tell is left out.
void add_process_metrics(MetricPage& page);

}  // namespace perfleet
