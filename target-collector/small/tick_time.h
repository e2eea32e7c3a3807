// Converts ticks to time, with integers only: some boards have no floating point.
//
// Freestanding.
#pragma once

#include <cstdint>

namespace perfleet {

// Rounds down. Doesn't overflow below 18 GHz and five hundred years.
[[nodiscard]] constexpr std::uint64_t ns_of_ticks(std::uint64_t ticks, std::uint64_t ticks_per_second) {
    constexpr std::uint64_t kNsASecond = 1'000'000'000;
    return ticks / ticks_per_second * kNsASecond + ticks % ticks_per_second * kNsASecond / ticks_per_second;
}

// Rounds down; same limits.
[[nodiscard]] constexpr std::uint64_t ticks_of_ns(std::uint64_t ns, std::uint64_t ticks_per_second) {
    constexpr std::uint64_t kNsASecond = 1'000'000'000;
    return ns / kNsASecond * ticks_per_second + ns % kNsASecond * ticks_per_second / kNsASecond;
}

}  // namespace perfleet
