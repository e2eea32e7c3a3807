// The events that have a name of their own: one row of the table each. Tracepoints and raw events are event_parser's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

// Every name and alias of the table.
[[nodiscard]] std::vector<std::string> event_names();

// Up to three of `candidates` that `name` may have been meant for, the nearest first.
[[nodiscard]] std::vector<std::string> near_names(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace perfleet
