// Figures of each command's runs: elapsed time with its distribution, the means of other figures, and the speed
// relative to a reference.
//
// Pure functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "exporters/report/screen.h"
#include "query-engine/statistic/answer/answer.h"
#include "query-engine/statistic/number/value_comparison.h"
#include "storage/number/moments.h"
#include "tools/perfleet/record/compare_plan.h"

namespace perfleet {

struct MeasuredFigure {
    std::string name;
    std::string unit;  // "ns" of times
    Moments moments{};
};

struct MeasuredSide {
    ComparedSide side;
    std::vector<ComparedRun> elapsed;  // in ns, one value each; numbers are turns
    std::vector<MeasuredFigure> others;
    std::uint64_t failed_count = 0;
};

struct SummaryOptions {
    std::size_t reference = 0;
    long double confidence = 0.95L;
    // The work of one run, for its throughput: bytes or items. 0: not known.
    double work = 0;
    std::string work_unit;
};

// Two-sided p values that hold together (Holm, 1979), and the level at which each was tested.
struct HolmTest {
    long double p_adjusted = 1;
    long double level = 0;
};
[[nodiscard]] std::vector<HolmTest> holm(std::span<const long double> p_values, long double alpha);

// Of `after` ÷ `before`, by pairs of one turn; nothing for fewer than two runs.
[[nodiscard]] std::optional<Interval> elapsed_ratio(const MeasuredSide& before, const MeasuredSide& after,
                                                    long double confidence);

// A row a command. Columns: side, command, its parameters, runs, failed; of elapsed mean with interval, sd, median,
// p90, min, max, in ns; means of the others; relative (÷ the reference) with interval at the level of p_adjusted, p,
// p_adjusted, verdict; rate with interval. Several relative speeds are corrected together by Holm's procedure.
[[nodiscard]] Answer summarise_runs(std::span<const MeasuredSide> sides, const SummaryOptions& options);

// As text. `has_relative`: with the speeds relative to the reference.
[[nodiscard]] std::string summary_text(const Answer& summary, std::span<const MeasuredSide> sides, bool has_relative,
                                       const SummaryOptions& options, const Screen& screen);

// The columns that a page of Markdown shows.
[[nodiscard]] Answer summary_for_markdown(const Answer& summary);

}  // namespace perfleet
