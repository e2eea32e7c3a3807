// `counters`: totals by session and event.
#pragma once

#include "query-engine/scan/scan.h"
#include "query-engine/statistic/answer.h"

namespace perfleet {

// A row a session and event with counter readings: last reading minus first in the time range, added up over cpus.
// `scaled` is what the counter would have seen had it counted all the time: value × enabled / running, rounded down, of
// each cpu; null where a cpu's counter was enabled and never ran. A counter bound to a process stands on every cpu, and
// each is enabled while the process runs on any: there the time enabled is the mean of the cpus (at least the time
// running), and one ratio holds for the sum.
[[nodiscard]] Result<Answer> make_counters(const Scan& scan);

}  // namespace perfleet
