// The answer of `latency --heat-map` or `subsecond` as text: a line for each step, highest first, a column for each
// part of time.
#pragma once

#include <string>

#include "exporters/report/screen.h"
#include "query-engine/statistic/answer/answer.h"

namespace perfleet {

// As wide as the screen (80 columns if it is unlimited), with at most 24 lines of steps. Without the ledger.
[[nodiscard]] std::string heat_map_text(const Answer& answer, const Screen& screen);
// Cells are amounts here.
[[nodiscard]] std::string subsecond_text(const Answer& answer, const Screen& screen);

}  // namespace perfleet
