// Determines the independent units of a comparison. A run is a session; if a side has several targets (a fleet), it is
// a target. Rows of one run are alike, so only the variation between runs predicts the next run.
//
// Plain functions.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "query-engine/statistic/diff/diff_setting.h"

namespace perfleet {

// The label of a session that is one repetition of a benchmark: its number.
inline constexpr const char* kRepetitionLabel = "repetition";
// The label that distinguishes the commands whose repetitions are in one file.
inline constexpr const char* kCommandLabel = "command";
// With fewer repetitions on a side not even the rarest order of all values has a p below 5 %.
inline constexpr std::size_t kRepetitionsMin = 4;

struct DiffRuns {
    // The run of each compared session, by the session's index in its scan. A target that is on both sides has the same
    // number on both: a pair. Two sessions of one turn of `perfleet compare` have the same number, too.
    std::map<std::size_t, std::size_t> before;
    std::map<std::size_t, std::size_t> after;
    std::size_t before_count = 0;
    std::size_t after_count = 0;
    std::string unknown;  // why runs can't be distinguished; then intervals are within runs, without a verdict
    bool by_runs = false;
    bool are_repetitions = false;  // all sessions are repetitions of a benchmark: compared by ranks
};

// `within_run`: intervals and verdicts are about the rows of these runs, not about further runs.
[[nodiscard]] DiffRuns diff_runs(const DiffSide& before, const DiffSide& after, bool within_run);

// The warning about `unknown`, with what to do about it.
[[nodiscard]] std::string unknown_warning(const DiffRuns& runs);

}  // namespace perfleet
