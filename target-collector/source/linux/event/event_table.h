// The table of named events, one row each; and cache events, whose names are composed.
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

// The categories of events, in the order of listing; each event has one.
[[nodiscard]] std::span<const std::string_view> event_categories();

// By name or alias; null if there is none.
[[nodiscard]] const NamedEvent* find_named_event(std::string_view name);

// The event without modifiers.
[[nodiscard]] EventSpec spec_of(const NamedEvent& named);

// perf_event_attr.config of a cache event, CACHE[-OPERATION][-RESULT] in either order: L1-dcache-load-misses, LLC,
// dTLB-store. Defaults are loads and all accesses. Empty: not such a name.
[[nodiscard]] std::optional<std::uint64_t> parse_cache_event(std::string_view name);

// Every name and alias of the table.
[[nodiscard]] std::vector<std::string> event_names();

}  // namespace perfleet
