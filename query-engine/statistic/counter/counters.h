// `counters`: totals of counters by session and event.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/option/option.h"
#include "query-engine/scan/scan.h"
#include "query-engine/statistic/answer/answer.h"

namespace perfleet {

// One row for each session and event with counter readings, summed over CPUs. A collector's counters start with its
// session and are read periodically. The count up to a moment is the last reading at or before it, 0 before the first
// reading; the count of a time range is the difference of those at its end and its beginning. So values of consecutive
// ranges add up, and `covered_from` and `covered_to` give the times of the two readings. If no reading lies within the
// range, the values are null, with a warning. If a session's first readings have expired, the first that remains
// replaces the one at its start.
//
// `scaled` estimates the value if the counter had run all the time: value × enabled / running, rounded down, for each
// CPU; null if a CPU's counter was enabled and never ran. A counter of a process exists on every CPU, and all are
// enabled while the process runs on any: there the enabled time is the mean over CPUs (at least the running time), and
// one ratio is applied to the sum.
//
// `group` and `per_leader` are set for events counted in a group: its number, and this event's value divided by that of
// the group's leader, over the time in which both counted. Null, with a warning, if they counted at different times.
struct CounterOptions {
    std::optional<std::pair<std::string, std::string>> ratio;  // of one event to another; then one row a session
};

// The count of one counter in the selected time, summed over CPUs as in the columns `value`, `time_enabled_ns` and
// `time_running_ns`.
struct CounterTotal {
    struct Count {
        std::uint64_t value = 0;
        std::uint64_t enabled_ns = 0;
        std::uint64_t running_ns = 0;
    };
    Series series;
    Count sum;
    std::map<std::uint64_t, Count> by_cpu;  // empty if a counter is bound to a process
};
// The totals of the session's selected counters that were read in the time range. Errors: those of the store.
[[nodiscard]] Result<std::vector<CounterTotal>> counter_totals(const Scan& scan, std::size_t session_index);

// Errors: kUsage: `ratio` names events of different groups, or that no session has; kInvalid: the readings of the two
// are of different times.
[[nodiscard]] Result<Answer> make_counters(const Scan& scan, const CounterOptions& options = {});

// The option ratio.
[[nodiscard]] const OptionTable<CounterOptions>& counter_options();

}  // namespace perfleet
