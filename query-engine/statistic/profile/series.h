// `series`: the measure of a profile over time, by command, unit, target or any label.
//
// Time is cut into steps of equal length from --from on, or from the first row. One row for each group and step with
// samples: groups descending by their amount, then ascending by text; the steps of a group ascending. All rows together
// have the total of `top`, unless --limit leaves groups out, which a warning says, or --below takes a part.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/option/option.h"
#include "query-engine/scan/scan.h"
#include "query-engine/statistic/answer/answer.h"
#include "query-engine/symbol/symbolizer.h"

namespace perfleet {

struct SeriesOptions {
    static constexpr std::uint32_t kStepsMax = 11'000;  // as in Prometheus

    double step_s = 0;             // 0: one step, the whole range
    std::uint64_t step_count = 0;  // 0: as step_s says; else so many, at most
    std::vector<std::string> by;   // the keys of a group: comm, cgroup, container, pod, unit, or a label of the session
    std::optional<std::uint64_t> group_count_max;
    std::vector<std::string> below;  // only rows of this call path (call_path.h); empty: all
};

// The options step, steps, by, limit, below.
[[nodiscard]] const OptionTable<SeriesOptions>& series_options();

// Columns: time (the start of a step), with step_count also until (its end), a column for each key, amount, samples.
// Errors: kUsage: more than kStepsMax steps.
[[nodiscard]] Result<Answer> make_series(const Scan& scan, Symbolizer& symbolizer, const SeriesOptions& options);

}  // namespace perfleet
