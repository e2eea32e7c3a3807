// `subsecond`: the measure of a profile by second and by place within the second, as FlameScope shows it. Work every
// 200 ms, or at each full second, is a pattern here and in no other view.
//
// Time is cut into columns of whole seconds (UTC), each into cells by the time since the last full second. A column of
// several seconds adds up cells at the same place. Rows: time, begin, end (of the column, from the first column on),
// from, to (of the cell, both included, within a second), amount, samples; ascending by begin, then from; empty cells
// have no row. All rows together have the total of `top`.
#pragma once

#include <cstdint>

#include "daemon/option/option.h"
#include "query-engine/scan/scan.h"
#include "query-engine/statistic/answer/answer.h"
#include "query-engine/statistic/session/measure.h"
#include "query-engine/symbol/symbolizer.h"

namespace perfleet {

struct SubsecondOptions {
    static constexpr std::uint32_t kColumnsMax = 3'600;

    std::uint64_t cell_ms = 20;        // divides a second
    std::uint64_t column_count = 300;  // at most; a column has as many whole seconds as that needs
};

// The options cell, columns.
[[nodiscard]] const OptionTable<SubsecondOptions>& subsecond_options();

// Errors: kTooLarge: amounts that add up to 2^63 or more, the query's memory; those of the store.
[[nodiscard]] Result<Answer> make_subsecond(const Scan& scan, Symbolizer& symbolizer, const SubsecondOptions& options);

}  // namespace perfleet
