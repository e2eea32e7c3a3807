// From what a user writes after -e to events: names of the table, raw events (r1a8), tracepoints (sched:sched_switch),
// each with an optional :u (user space only) or :k (kernel only), and groups of them that are counted all or none:
//
//   list  := item (',' item)*
//   item  := event | group
//   group := '{' event (',' event)* '}' [':' ('u' | 'k')+]
//
// As perf has it, what stands behind a group's brace is added to what its events say of themselves.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/kind.h"

namespace perfleet {

struct EventSpec {
    std::string name;  // as the user wrote it, with what its group adds
    std::uint32_t type = 0;
    std::uint64_t config = 0;
    std::string unit;
    bool exclude_kernel = false;
    bool exclude_user = false;
    std::string format;       // tracepoints: as tracefs gives it
    std::uint16_t group = 0;  // from 1, of events that stand side by side, their leader first; 0: in none

    [[nodiscard]] bool is_tracepoint() const;
    [[nodiscard]] Kind row_kind() const { return is_tracepoint() ? Kind::kTracepoint : Kind::kSample; }
};

inline constexpr std::size_t kGroupEventsMax = 32;  // no PMU has more counters

// Where tracefs is mounted, read once for tests to replace.
struct TracefsPlaces {
    std::vector<std::string> roots{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
};

// `lists`: each one -e. Errors: kUsage naming the event, or the character, and what may have been meant, kPermission or
// kUnavailable when tracefs can't be read, with the way out.
[[nodiscard]] Result<std::vector<EventSpec>> parse_events(const std::vector<std::string>& lists,
                                                          const TracefsPlaces& places);

// The root of tracefs that can be read; empty when none.
[[nodiscard]] std::string find_tracefs(const TracefsPlaces& places);

}  // namespace perfleet
