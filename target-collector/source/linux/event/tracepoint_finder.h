// Finds tracepoints of the kernel and of its probes in tracefs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "target-collector/source/linux/event/event_spec.h"

namespace perfleet {

// The first readable root of tracefs; empty if there is none.
[[nodiscard]] std::string find_tracefs(const EventPlaces& places);

// True for text with wildcards: * ? [
[[nodiscard]] bool is_pattern(std::string_view text);

// One tracepoint, or all that match, ordered by name; limits::kEventsMax at most, each named "system:name". `event` is
// the user's text. Errors: kUsage with alternatives, kPermission or kUnavailable if tracefs can't be read, with what to
// do.
[[nodiscard]] Result<std::vector<EventSpec>> find_tracepoints(std::string_view event, std::string_view system,
                                                              std::string_view name, const EventPlaces& places);

// Whether tracefs has a system of tracepoints with this name.
[[nodiscard]] bool has_tracepoint_system(std::string_view system, const EventPlaces& places);

// "sched:sched_switch" for "sched_switch": all tracepoints of this name.
[[nodiscard]] std::vector<std::string> tracepoints_named(std::string_view name, const EventPlaces& places);

// All of them, by name; none if tracefs can't be read.
[[nodiscard]] std::vector<std::string> tracepoint_names(const EventPlaces& places);

// The fields of a tracepoint's format, without those that all tracepoints have.
[[nodiscard]] std::vector<std::string> tracepoint_fields(std::string_view format);

}  // namespace perfleet
