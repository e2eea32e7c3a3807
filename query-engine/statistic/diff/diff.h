// `diff`: compares two selections: measured latencies figure by figure, or profiles function by function. Each line
// gives the change, its interval, and whether chance alone explains it.
//
// One row a line, with the same columns for both subjects: the identity of the line, then
//   figure                                    mean, median, p99, max, shift (Hodges and Lehmann's); self, children
//   unit, before, after                       shares in percent
//   difference, difference_low, difference_high   after − before, in that unit
//   change, change_low, change_high           in percent of the value before
//   p, p_adjusted                             two-sided p value of no change; adjusted for all lines.
//                                             Intervals hold for all lines together, too
//   detectable                                smallest change that is detected with 80 % power: percent of the
//                                             value before; of profiles percentage points
//   verdict                                   in words
//   primary                                   yes, no; with --primary
//   condition, outcome                        of --fail-if: exceeded, undecided or within
// then the evidence: counts, runs, sessions, effect sizes. Answer::parts holds each side's ledger.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "query-engine/scan/scan.h"
#include "query-engine/statistic/answer/answer.h"
#include "query-engine/statistic/diff/fail_condition.h"
#include "query-engine/statistic/number/value_comparison.h"
#include "query-engine/symbol/symbolizer.h"

namespace perfleet {

enum class DiffSubject : std::uint8_t { kLatency, kProfile };

// A line's outcome under --fail-if. Programs exit with 1 if a condition holds.
inline constexpr const char* kOutcomeExceeded = "exceeded";
inline constexpr const char* kOutcomeUndecided = "undecided";
inline constexpr const char* kOutcomeWithin = "within";

struct DiffOptions {
    std::optional<DiffSubject> subject;  // none: latencies where either side has some, else profiles
    std::vector<LatencyFigure> figures;  // of latencies
    bool means_alone = false;            // of latencies: without the shift, too
    std::vector<std::string> by;         // labels that distinguish series
    std::vector<std::string> pair;       // start and stop event, whose distance is the value; empty: measured values
    bool names_checklist = false;        // in the warning about settings that runs don't state
    bool within_run = false;             // verdicts are about these runs, not about further ones
    long double confidence = 0.95L;      // of intervals and verdicts
    std::vector<FailCondition> conditions;
    // The event whose mean is tested alone, as are figures that conditions name: primary lines. The others are
    // corrected among themselves. Empty: all lines are corrected together.
    std::string primary;
    std::optional<std::uint64_t> row_count_max;  // of profiles
    std::set<std::string> chosen_labels;         // the labels that define the sides: expected to differ
};

// Errors: kNotFound when a condition names nothing that was compared; kUsage when its figure doesn't fit the subject;
// those of the stores.
[[nodiscard]] Result<Answer> make_diff(const Scan& before, const Scan& after, Symbolizer& symbolizer,
                                       const DiffOptions& options);

}  // namespace perfleet
