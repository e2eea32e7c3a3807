// How long the root task is to run, as whoever starts the machine says it: `seconds=N`, and nothing else.
//
// Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace perfleet::sel4 {

inline constexpr std::uint64_t kRunSecondsDefault = 6;
inline constexpr std::uint64_t kRunSecondsMax = 1'000'000;

// An empty text says the default. Nothing: it isn't understood.
[[nodiscard]] inline std::optional<std::uint64_t> parse_run_seconds(std::string_view text) {
    constexpr std::string_view kName = "seconds=";
    if (text.empty()) {
        return kRunSecondsDefault;
    }
    if (!text.starts_with(kName)) {
        return std::nullopt;
    }
    std::uint64_t seconds = 0;
    for (std::size_t at = kName.size(); at < text.size(); ++at) {
        const auto digit = static_cast<std::uint64_t>(text[at] - '0');
        if (digit > 9 || seconds > kRunSecondsMax) {
            return std::nullopt;
        }
        seconds = seconds * 10 + digit;
    }
    return seconds;
}

}  // namespace perfleet::sel4
