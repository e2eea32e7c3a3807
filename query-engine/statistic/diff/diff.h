// `diff`: what changed between two selections: of measured latencies, figure by figure; of profiles, function by
// function. What a line says is how much, between which bounds, and whether chance alone would do it.
//
// A row a line, with the same columns for both: what tells lines apart, then
//   figure                                    mean, median, p99, max, shift (Hodges and Lehmann's); self, children
//   unit, before, after                       shares in percent
//   difference, difference_low, difference_high   after − before, in that unit
//   change, change_low, change_high           of what was before, in percent
//   p, p_adjusted                             two-sided, of no change; and as it counts among all lines. Intervals hold
//                                             for all lines together, too
//   detectable                                the smallest change that would be shown with 80 % chance: percent of what
//                                             was before, of profiles percentage points
//   verdict                                   in words
//   condition, outcome                        of --fail-if: exceeded, undecided or within
// and what lies behind it: counts, runs, sessions, effect sizes. Each side's ledger is a part of the answer's.
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

// What a line's outcome is when a condition holds: programs exit with 1 then.
inline constexpr const char* kOutcomeExceeded = "exceeded";
inline constexpr const char* kOutcomeUndecided = "undecided";
inline constexpr const char* kOutcomeWithin = "within";

struct DiffOptions {
    std::optional<DiffSubject> subject;  // none: latencies where either side has some, else profiles
    std::vector<LatencyFigure> figures;  // of latencies
    bool means_alone = false;            // of latencies: no shift, either
    std::vector<std::string> by;         // labels that tell series apart
    std::vector<std::string> pair;   // start and stop: values are the times between; empty: those that were measured
    bool names_checklist = false;    // in the warning of what not all runs say
    bool within_run = false;         // verdicts are of these runs, whatever the next ones would bring
    long double confidence = 0.95L;  // of intervals, and what verdicts are held against
    std::vector<FailCondition> conditions;
    std::optional<std::uint64_t> row_count_max;  // of profiles
    std::set<std::string> chosen_labels;         // that the sides were told apart by: they differ on purpose
};

// Errors: kNotFound when a condition is about nothing that was compared; kUsage when it is no figure of the subject;
// those of the stores.
[[nodiscard]] Result<Answer> make_diff(const Scan& before, const Scan& after, Symbolizer& symbolizer,
                                       const DiffOptions& options);

}  // namespace perfleet
