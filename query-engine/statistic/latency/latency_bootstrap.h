// `latency --bootstrap`: bootstrap intervals of any figure (number/bootstrap.h).
#pragma once

#include <string>
#include <vector>

#include "query-engine/scan/scan.h"
#include "query-engine/statistic/latency/latency.h"
#include "query-engine/statistic/latency/latency_source.h"

namespace perfleet {

// Parses "mean,sd,p99.9": mean, sd, cv, median, mad and percentiles. Errors: kUsage.
[[nodiscard]] Result<std::vector<BootstrapFigure>> parse_bootstrap_figures(const std::string& text);

// Adds the row of a source, from its first kBootstrapValuesMax values. Errors: as first_values().
[[nodiscard]] Result<Done> add_bootstrap_row(const Scan& scan, const ValueSource& source, const LatencyOptions& options,
                                             Answer& answer);

}  // namespace perfleet
