// Tracepoints of the kernel and of its probes, as tracefs lists them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/error.h"
#include "target-collector/source/linux/event/event_spec.h"

namespace perfleet {

// The root of tracefs that can be read; empty when none.
[[nodiscard]] std::string find_tracefs(const EventPlaces& places);

// True for text that stands for several names: * ? [
[[nodiscard]] bool is_pattern(std::string_view text);

// One tracepoint, or all that match, in the order of their names; limits::kEventsMax at most. `event` is what the user
// wrote. Each has its name, "system:name". Errors: kUsage with what may have been meant, kPermission or kUnavailable
// when tracefs can't be read, with the way out.
[[nodiscard]] Result<std::vector<EventSpec>> find_tracepoints(std::string_view event, std::string_view system,
                                                              std::string_view name, const EventPlaces& places);

// Whether there is a system of tracepoints of this name.
[[nodiscard]] bool has_tracepoint_system(std::string_view system, const EventPlaces& places);

// "sched:sched_switch" for "sched_switch": all tracepoints of this name.
[[nodiscard]] std::vector<std::string> tracepoints_named(std::string_view name, const EventPlaces& places);

// The fields of a tracepoint's format, those that all tracepoints have left out.
[[nodiscard]] std::vector<std::string> tracepoint_fields(std::string_view format);

}  // namespace perfleet
