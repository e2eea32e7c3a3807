// The events that have a name of their own: one row of the table each; and cache events, whose names have parts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "target-collector/source/linux/event/event_spec.h"

namespace perfleet {

struct NamedEvent {
    std::string_view name;
    std::string_view alias;  // empty: none
    std::uint32_t type = 0;  // perf_event_attr.type, .config
    std::uint64_t config = 0;
    std::string_view unit;  // of weight and value
    std::string_view category;
};

[[nodiscard]] std::span<const NamedEvent> named_events();

// What events are about, in the order in which they are listed; each event is of one of them.
[[nodiscard]] std::span<const std::string_view> event_categories();

// By name or alias; null when there is none.
[[nodiscard]] const NamedEvent* find_named_event(std::string_view name);

// As it is opened, without modifiers.
[[nodiscard]] EventSpec spec_of(const NamedEvent& named);

// perf_event_attr.config of a cache event, CACHE[-OPERATION][-RESULT] in either order: L1-dcache-load-misses, LLC,
// dTLB-store. Without them loads and all accesses are meant. Empty: the name is none.
[[nodiscard]] std::optional<std::uint64_t> parse_cache_event(std::string_view name);

// Every name and alias of the table.
[[nodiscard]] std::vector<std::string> event_names();

}  // namespace perfleet
