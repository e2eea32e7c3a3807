// The idle task (swapper) in tables of profiles: hidden, with its share named.
#pragma once

#include <optional>

#include "daemon/option/option.h"
#include "query-engine/statistic/answer/answer.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

// The value of --tid without the idle task, whose number is 0 on every processor.
inline constexpr const char* kAllButIdle = "1-2147483647";

// The options of the query `top` whose answer has the share of the idle task; `values` choose the samples.
[[nodiscard]] OptionValues busy_or_idle(OptionValues values);
// That share, in percent; nothing without samples.
[[nodiscard]] std::optional<double> idle_percent(const Result<Answer>& answer);

}  // namespace perfleet
