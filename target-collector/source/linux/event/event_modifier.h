// The letters behind an event: what it counts (u k h I G H), how precisely it samples (p P), how it is scheduled (D e).
// As perf's.
#pragma once

#include <string>
#include <string_view>

#include "schemas/vocabulary/error.h"
#include "target-collector/source/linux/event/event_spec.h"

namespace perfleet {

// True for letters that perf has. Whether they go together is another question.
[[nodiscard]] bool is_modifier(std::string_view letters);

// Why these letters can't stand together, or can't be had; empty: they can.
[[nodiscard]] std::string modifier_trouble(std::string_view letters);

// Replaces all that modifiers say in `spec`. `letters` are free of trouble; W and S, which are a group's, are ignored.
void apply_modifiers(std::string_view letters, EventSpec& spec);

// An event's own letters with those that its group adds to each of its events, in perf's order.
[[nodiscard]] std::string merge_modifiers(std::string_view own, std::string_view group);

}  // namespace perfleet
