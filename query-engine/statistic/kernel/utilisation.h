// `utilisation`: who had the core while a seL4 kernel counted, and whether its counters can be believed.
#pragma once

#include "query-engine/scan/scan.h"
#include "query-engine/statistic/answer/answer.h"

namespace perfleet {

// A row a thread of each window (a window begins at the row of the whole system), the greatest share first, then the
// idle thread, `others` (what the total has and no thread), and `total`. A thread's cycles hold its time in the kernel;
// the kernel's time stands beside, as a share of the total. A counter that can't be true has no share and says its
// fault; sums that don't equal the total are told.
[[nodiscard]] Result<Answer> make_utilisation(const Scan& scan);

}  // namespace perfleet
