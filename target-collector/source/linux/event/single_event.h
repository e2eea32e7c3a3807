// One event of a list, in any spelling, before modifiers are applied, because a group may add some.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "target-collector/source/linux/event/event_spec.h"

namespace perfleet {

struct SingleEvent {
    EventSpec spec;
    std::string base;             // its spelling without modifiers
    std::string modifiers;        // letters
    bool ends_in_slash = false;   // modifiers follow without a colon
    bool is_one_of_many = false;  // from a pattern
};

// Several events if `text` is a pattern of tracepoints, or names several PMUs. Errors: parse_events().
[[nodiscard]] Result<std::vector<SingleEvent>> parse_single_event(std::string_view text, const EventPlaces& places);

}  // namespace perfleet
