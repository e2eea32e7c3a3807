// `counters` and `tracepoints`: totals by session and event.
#pragma once

#include "query-engine/scan/scan.h"
#include "query-engine/statistic/answer.h"

namespace perfleet {

// A row a session and event with counter readings: over all cpus and threads, last reading minus first in the time
// range; `scaled` is each one's value × enabled / running, rounded down, and null where one never ran.
[[nodiscard]] Result<Answer> make_counters(const Scan& scan);

// A row a session and tracepoint event: rows in the time range, their weight, and when the first and last were.
[[nodiscard]] Result<Answer> make_tracepoints(const Scan& scan);

}  // namespace perfleet
