// Parses events as written after -e, in perf's syntax (README.md has examples):
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

// `lists`: one for each -e. `filters`: for the tracepoints of each list; may be shorter. Errors: kUsage, which names
// the event or the character, and alternatives; kUnsupported if this machine has no such PMU; kPermission or
// kUnavailable if tracefs can't be read; each says what to do.
[[nodiscard]] Result<std::vector<EventSpec>> parse_events(const std::vector<std::string>& lists,
                                                          const EventPlaces& places,
                                                          const std::vector<std::string>& filters = {});

}  // namespace perfleet
