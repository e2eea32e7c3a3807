// `utilisation`: each thread's share of the core in a window that a seL4 kernel counted, and faults of its counters.
#pragma once

#include "query-engine/scan/scan.h"
#include "query-engine/statistic/answer/answer.h"

namespace perfleet {

// One row for each thread of each window. A window begins with the row of the whole system, then come threads by
// descending share, the idle thread, `others` (the part of the total that no thread has), and `total`. A thread's
// cycles include its time in the kernel; the kernel's time is also given as a share of the total. An impossible counter
// has no share and names its fault; sums that differ from the total give a warning.
[[nodiscard]] Result<Answer> make_utilisation(const Scan& scan);

}  // namespace perfleet
