// `counters`: totals by session and event.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/option/option.h"
#include "query-engine/scan/scan.h"
#include "query-engine/statistic/answer/answer.h"

namespace perfleet {

// A row a session and event with counter readings, added up over cpus. Collectors count from their session's start on
// and read now and then: what was counted up to a moment is the last reading at or before it, 0 before the first; of a
// time range it is that of its end minus that of its beginning. So the values of ranges that follow each other add up
// to that of them all, and `covered_from` and `covered_to` say which readings they are between. Where none lies behind
// a range's beginning up to its end the values are null, with a warning. Of a session whose first readings have expired
// the first that is left stands for its start.
//
// `scaled` is what the counter would have seen had it counted all the time: value × enabled / running, rounded down, of
// each cpu; null where a cpu's counter was enabled and never ran. A counter bound to a process stands on every cpu, and
// each is enabled while the process runs on any: there the time enabled is the mean of the cpus (at least the time
// running), and one ratio holds for the sum.
//
// `group` and `per_leader` are of events that were counted in a group: its number, and this event's value over that of
// the group's first, over the time in which both counted. Null, with a warning, where they didn't count at the same
// time.
struct CounterOptions {
    std::optional<std::pair<std::string, std::string>> ratio;  // of one event to another: then only a row a session
};

// What a counter counted in the selected time, added up over cpus as in `value`, `time_enabled_ns` and
// `time_running_ns`.
struct CounterTotal {
    struct Count {
        std::uint64_t value = 0;
        std::uint64_t enabled_ns = 0;
        std::uint64_t running_ns = 0;
    };
    Series series;
    Count sum;
    std::map<std::uint64_t, Count> by_cpu;  // where none is bound to a process; else empty
};
// Of each selected counter of a session that was read in that time. Errors: those of the store.
[[nodiscard]] Result<std::vector<CounterTotal>> counter_totals(const Scan& scan, std::size_t session_index);

// Errors: kUsage: `ratio` of events of different groups, or that no session has; kInvalid: of readings that aren't of
// the same time.
[[nodiscard]] Result<Answer> make_counters(const Scan& scan, const CounterOptions& options = {});

// ratio.
[[nodiscard]] const OptionTable<CounterOptions>& counter_options();

}  // namespace perfleet
