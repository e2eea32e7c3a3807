// One event of a list, whatever it is spelled like, before its modifiers are put to use: a group may add to them.
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
    bool ends_in_slash = false;   // so no colon stands before them
    bool is_one_of_many = false;  // that a pattern stands for
};

// More than one where `text` is a pattern of tracepoints, or names several PMUs. Errors: parse_events().
[[nodiscard]] Result<std::vector<SingleEvent>> parse_single_event(std::string_view text, const EventPlaces& places);

}  // namespace perfleet
