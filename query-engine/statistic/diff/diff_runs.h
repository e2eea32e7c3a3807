// What is independent in a comparison. A run is a session; where a side has several targets (a fleet), it is a target.
// Rows of one run are alike, so how the next run would come out is only seen from how runs differ.
//
// Plain functions.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "query-engine/statistic/diff/diff_setting.h"

namespace perfleet {

struct DiffRuns {
    // The run of each session that takes part, by the session's index in its scan. A target on both sides has the same
    // number on both: a pair.
    std::map<std::size_t, std::size_t> before;
    std::map<std::size_t, std::size_t> after;
    std::size_t before_count = 0;
    std::size_t after_count = 0;
    std::string unknown;  // why runs can't be told apart: intervals are then of the rows within them, without a verdict
    bool by_runs = false;
};

// With `within_run` intervals and verdicts are of the rows within these runs, whatever the next ones would bring.
[[nodiscard]] DiffRuns diff_runs(const DiffSide& before, const DiffSide& after, bool within_run);

// What to do about `unknown`.
[[nodiscard]] std::string unknown_warning(const DiffRuns& runs);

}  // namespace perfleet
