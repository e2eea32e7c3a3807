// `latency --runs`: how figures vary from run to run: of each event, a row over all the runs that are selected. A least
// value means something only where it comes back, and a configuration is reproduced only where the medians are.
#pragma once

#include "query-engine/scan/scan.h"
#include "query-engine/statistic/answer/answer.h"
#include "query-engine/statistic/latency/latency.h"

namespace perfleet {

// Runs of one target, event, unit and test size stand in one row; runs that failed are left out, and said.
[[nodiscard]] Result<Answer> make_latency_runs(const Scan& scan, const LatencyOptions& options);

// In what the machines of these runs differed, a sentence each: figures of runs at several frequencies aren't of one
// thing.
[[nodiscard]] std::vector<std::string> differing_state(const std::vector<const SessionRecord*>& runs);

}  // namespace perfleet
