// From what a user writes after -e to events, in perf's spelling (README.md has examples):
//
//   list    := item (',' item)*
//   item    := event | group
//   group   := [NAME] '{' event (',' event)* '}' [':' modifiers]
//   event   := what ['/' term (',' term)* '/' modifiers | ':' modifiers]
//   what    := an event's name | a PMU's name | SYSTEM ':' NAME (or a pattern of them) | rHEX | TYPE ':' CONFIG
//            | 'mem:' ADDRESS ['/' LENGTH] [':' any of r w x]
//   term    := NAME ['=' value]
#pragma once

#include <string>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "target-collector/source/linux/event/event_spec.h"

namespace perfleet {

inline constexpr std::size_t kGroupEventsMax = 32;  // no PMU has more counters

// `lists`: each one -e. `filters`: that of each list, for its tracepoints; shorter where the last ones have none.
// Errors: kUsage naming the event, or the character, and what may have been meant; kUnsupported where this machine has
// no such PMU; kPermission or kUnavailable when tracefs can't be read; each with the way out.
[[nodiscard]] Result<std::vector<EventSpec>> parse_events(const std::vector<std::string>& lists,
                                                          const EventPlaces& places,
                                                          const std::vector<std::string>& filters = {});

}  // namespace perfleet
