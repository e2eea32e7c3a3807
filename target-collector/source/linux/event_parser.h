// From what a user writes after -e to events: names of the table, raw events (r1a8), tracepoints (sched:sched_switch),
// each with an optional :u (user space only) or :k (kernel only).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/kind.h"

namespace perfleet {

struct EventSpec {
    std::string name;  // as the user wrote it
    std::uint32_t type = 0;
    std::uint64_t config = 0;
    std::string unit;
    bool exclude_kernel = false;
    bool exclude_user = false;
    std::string format;  // tracepoints: as tracefs gives it

    [[nodiscard]] bool is_tracepoint() const;
    [[nodiscard]] Kind row_kind() const { return is_tracepoint() ? Kind::kTracepoint : Kind::kSample; }
};

// Where tracefs is mounted, read once for tests to replace.
struct TracefsPlaces {
    std::vector<std::string> roots{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
};

// `lists`: each one -e, with commas between events. Errors: kUsage naming the event and what may have been meant,
// kPermission or kUnavailable when tracefs can't be read, with the way out.
[[nodiscard]] Result<std::vector<EventSpec>> parse_events(const std::vector<std::string>& lists,
                                                          const TracefsPlaces& places);

// The root of tracefs that can be read; empty when none.
[[nodiscard]] std::string find_tracefs(const TracefsPlaces& places);

}  // namespace perfleet
