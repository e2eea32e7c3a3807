// `latency --runs`: variation of figures between runs: a row for each event over all selected runs. A minimum is
// meaningful only if it recurs, and a configuration is reproduced only if the medians are.
#pragma once

#include "query-engine/scan/scan.h"
#include "query-engine/statistic/answer/answer.h"
#include "query-engine/statistic/latency/latency.h"

namespace perfleet {

// Runs of one target, event, unit and test size share a row. Failed runs are left out, with a warning.
[[nodiscard]] Result<Answer> make_latency_runs(const Scan& scan, const LatencyOptions& options);

// Differences between these runs' machines, a sentence each: figures from different frequencies must not be mixed.
[[nodiscard]] std::vector<std::string> differing_state(const std::vector<const SessionRecord*>& runs);

}  // namespace perfleet
