// Parses how long and how much to keep: "30d", "20g".
//
// Pure functions; hosts only.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <optional>
#include <string_view>

#include "schemas/text/parse.h"

namespace perfleet {

struct AmountUnit {
    char letter;  // also as a capital
    std::uint64_t value;
};
inline constexpr std::array kAgeUnits{AmountUnit{'h', 3'600}, AmountUnit{'d', 86'400}, AmountUnit{'w', 7 * 86'400}};
inline constexpr std::array kSizeUnits{AmountUnit{'k', 1ULL << 10}, AmountUnit{'m', 1ULL << 20},
                                       AmountUnit{'g', 1ULL << 30}, AmountUnit{'t', 1ULL << 40}};

// "30d" in seconds, "20g" in bytes, by these units; nothing for an unknown unit, no number, or more than `max`.
template <std::size_t kUnits>
[[nodiscard]] std::optional<std::uint64_t> amount_of(std::string_view text, const std::array<AmountUnit, kUnits>& units,
                                                     std::uint64_t max) {
    const char letter = text.empty() ? '\0' : static_cast<char>(std::tolower(static_cast<unsigned char>(text.back())));
    const auto unit = std::ranges::find(units, letter, &AmountUnit::letter);
    const auto number = unit == units.end() ? std::nullopt : number_of<std::uint64_t>(text.substr(0, text.size() - 1));
    return number && *number <= max / unit->value ? std::optional{*number * unit->value} : std::nullopt;
}

}  // namespace perfleet
