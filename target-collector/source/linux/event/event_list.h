// Lists the events that can be counted and sampled on this machine, for users.
#pragma once

#include <string>
#include <vector>

#include "target-collector/source/linux/event/event_spec.h"
#include "target-collector/source/linux/event/event_table.h"

namespace perfleet {

struct ListedEvent {
    const NamedEvent* event = nullptr;
    std::string trouble;  // why it can't be counted here; empty: countable
};

// Tries every event of the table, in its order, by opening it once for this process.
[[nodiscard]] std::vector<ListedEvent> try_named_events();

// The same as text, by category, with tracepoints, raw events and modifiers.
[[nodiscard]] std::string list_events(const std::vector<ListedEvent>& events, const EventPlaces& places = {});

// Those whose name, alias or category holds one of the texts, or matches it as a glob: named events as above,
// tracepoints by "tracepoint:SYSTEM:NAME". Empty if there is none.
[[nodiscard]] std::string list_matching_events(const std::vector<ListedEvent>& events,
                                               const std::vector<std::string>& patterns,
                                               const EventPlaces& places = {});

}  // namespace perfleet
