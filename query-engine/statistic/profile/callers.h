// `top --callers FUNCTION`: which functions called one, by samples.
//
// A row a caller: the samples in whose call chain it calls the function directly, each sample once, and their share of
// the samples that have the function in their chain. Where the function is the outermost frame the caller is
// "[outermost]". With recursion a sample may count for several callers. Rows: descending by samples, then ascending by
// their texts.
#pragma once

#include "query-engine/statistic/profile/top.h"
#include "query-engine/statistic/session/event_choice.h"

namespace perfleet {

// Errors: kNotFound when no sample has such a function.
[[nodiscard]] Result<Answer> make_callers(const Scan& scan, Symbolizer& symbolizer, const TopOptions& options,
                                          const EventChoice& event);

}  // namespace perfleet
