// The parameters of accumulated latencies (Kanata Bench), as options of a run: "I,D,G,S". G groups of S tests; a test
// of the first group is I rounds of a circle, one of each further group D rounds more. A test measures the time of all
// its rounds.
//
// Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace perfleet {

struct CircleShape {
    std::uint64_t initial_size = 20;  // I
    std::uint64_t size_delta = 20;    // D
    std::uint64_t group_count = 10;   // G
    std::uint64_t test_count = 30;    // S, in each group: 30 at least give a usable interval

    [[nodiscard]] constexpr std::uint64_t size_of_group(std::uint64_t group_from_1) const {
        return initial_size + (group_from_1 - 1) * size_delta;
    }
};

inline constexpr std::uint64_t kCircleNumberMax = 1'000'000'000;

// Parses decimals from 1 to kCircleNumberMax; S is optional. Nothing: invalid text.
[[nodiscard]] constexpr std::optional<CircleShape> parse_circle_shape(std::string_view text) {
    constexpr std::size_t kNumbersMin = 3;
    constexpr std::size_t kNumbersMax = 4;
    CircleShape shape;
    std::uint64_t* const numbers[kNumbersMax] = {&shape.initial_size, &shape.size_delta, &shape.group_count,
                                                 &shape.test_count};
    std::size_t count = 0;
    for (std::size_t at = 0; at <= text.size(); ++at, ++count) {
        std::uint64_t number = 0;
        for (; at < text.size() && text[at] != ','; ++at) {
            const char digit = text[at];
            if (digit < '0' || digit > '9' || number > kCircleNumberMax) {
                return std::nullopt;
            }
            number = number * 10 + static_cast<std::uint64_t>(digit - '0');
        }
        if (count == kNumbersMax || number == 0 || number > kCircleNumberMax) {
            return std::nullopt;
        }
        *numbers[count] = number;
    }
    return count >= kNumbersMin ? std::optional{shape} : std::nullopt;
}

}  // namespace perfleet
