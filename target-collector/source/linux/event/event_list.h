// What can be counted and sampled on this machine: for somebody who chooses events.
#pragma once

#include <string>
#include <vector>

#include "target-collector/source/linux/event/event_spec.h"
#include "target-collector/source/linux/event/event_table.h"

namespace perfleet {

struct ListedEvent {
    const NamedEvent* event = nullptr;
    std::string trouble;  // why it can't be counted here; empty: it can
};

// Every event of the table, in its order, each opened once for this process.
[[nodiscard]] std::vector<ListedEvent> try_named_events();

// The same as text, by category, with what else there is: tracepoints, raw events, modifiers.
[[nodiscard]] std::string list_events(const std::vector<ListedEvent>& events, const EventPlaces& places = {});

}  // namespace perfleet
