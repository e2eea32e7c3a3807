// `top --slowest 0.1% --of EVENT`: functions in which the slowest operations spend more of their time than the others.
//
// One row for each function, by itself (`self`) and with its callees (`children`): its share of the samples in the
// slowest operations and in the others, with interval of the difference, p value and verdict as in `diff`. An operation
// is a cluster, because samples of one operation are alike. Rows: first those with a difference, ordered by the bound
// nearest 0. Samples outside of operations count on neither side; a warning gives their number.
#pragma once

#include "query-engine/statistic/profile/operations.h"
#include "query-engine/symbol/symbolizer.h"

namespace perfleet {

struct SlowestProfileOptions {
    SlowestOptions operations;
    bool each_address = false;
    std::optional<std::uint64_t> row_count_max;
};

// Errors: those of find_operations(), choose_operation_measure() and visit_operation_samples().
[[nodiscard]] Result<Answer> make_slowest(const Scan& scan, Symbolizer& symbolizer,
                                          const SlowestProfileOptions& options);

}  // namespace perfleet
