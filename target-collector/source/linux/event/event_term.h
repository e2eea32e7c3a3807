// The terms between an event's slashes: period=1000,name=mine,config1=0x3. Only terms that every event accepts;
// pmu_event.h has those of PMUs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "target-collector/source/linux/event/event_spec.h"

namespace perfleet {

struct EventTerm {
    std::string_view name;
    std::optional<std::string_view> value;  // without its quotes
};

// Splits at the commas outside quotes. Borrows `text`.
[[nodiscard]] std::vector<EventTerm> split_terms(std::string_view text);

// A whole text that is a decimal number, or a hexadecimal one after 0x.
[[nodiscard]] std::optional<std::uint64_t> parse_number(std::string_view text);

// "r1a8" or "r0x1a8".
[[nodiscard]] std::optional<std::uint64_t> parse_raw_config(std::string_view text);

// Applies the term to `spec`; false: not a common term. Errors: kUsage, about `event`.
[[nodiscard]] Result<bool> take_common_term(std::string_view event, const EventTerm& term, EventSpec& spec);

// The same for all terms; others are errors.
[[nodiscard]] Result<Done> take_common_terms(std::string_view event, std::string_view terms, EventSpec& spec);

// The names of common terms, for messages.
[[nodiscard]] std::vector<std::string> common_term_names();

}  // namespace perfleet
