// `top --callers FUNCTION`: the callers of a function, by samples.
//
// One row for each caller: the samples in whose call chain it calls the function directly, each sample once, and their
// share of the samples with the function in their chain. If the function is the outermost frame the caller is
// "[outermost]". With recursion a sample may count for several callers. Rows: descending by samples, then ascending by
// text.
#pragma once

#include "query-engine/statistic/profile/top.h"
#include "query-engine/statistic/session/measure.h"

namespace perfleet {

// Errors: kNotFound when no sample has such a function.
[[nodiscard]] Result<Answer> make_callers(const Scan& scan, Symbolizer& symbolizer, const TopOptions& options,
                                          const Measure& measure);

}  // namespace perfleet
