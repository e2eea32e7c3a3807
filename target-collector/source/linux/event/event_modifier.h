// The modifiers of an event, as in perf: what it counts (u k h I G H), how precisely it samples (p P), how it is
// scheduled (D e).
#pragma once

#include <string>
#include <string_view>

#include "target-collector/source/linux/event/event_spec.h"

namespace perfleet {

// True for letters that perf has, even if their combination is invalid.
[[nodiscard]] bool is_modifier(std::string_view letters);

// Why these letters can't be combined, or aren't supported; empty: valid.
[[nodiscard]] std::string modifier_trouble(std::string_view letters);

// Sets all fields of `spec` that modifiers decide. `letters` must be valid; W and S, which belong to groups, are
// ignored.
void apply_modifiers(std::string_view letters, EventSpec& spec);

// An event's own letters combined with its group's, in perf's order.
[[nodiscard]] std::string merge_modifiers(std::string_view own, std::string_view group);

}  // namespace perfleet
