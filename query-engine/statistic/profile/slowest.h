// `top --slowest 0.1% --of EVENT`: which functions the slowest operations spend more of their time in than the others.
//
// A row a function, by itself (`self`) and with what it calls (`children`): its share of the samples that fell into the
// slowest operations, and of those that fell into the others, with the interval of their difference, p value and
// verdict of `diff`. An operation is a cluster: samples of one operation are alike. Rows: first those with a
// difference, by the least that it may be. Samples outside of all operations count on neither side; a warning says how
// many there are.
#pragma once

#include "query-engine/statistic/profile/operations.h"
#include "query-engine/symbol/symbolizer.h"

namespace perfleet {

struct SlowestProfileOptions {
    SlowestOptions operations;
    bool sum_weights = false;
    bool each_address = false;
    bool is_event_alone = false;  // of time off the CPU: blocked time without that of waiting for a CPU
    std::optional<std::uint64_t> row_count_max;
};

// Errors: those of find_operations(), choose_operation_event() and visit_operation_samples().
[[nodiscard]] Result<Answer> make_slowest(const Scan& scan, Symbolizer& symbolizer,
                                          const SlowestProfileOptions& options);

}  // namespace perfleet
