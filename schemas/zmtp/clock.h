// The monotonic clock of servers and clients.
#pragma once

#include <cstdint>
#include <ctime>

namespace perfleet::zmtp {

inline constexpr std::uint64_t kNsPerMs = 1'000'000;
inline constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

inline std::uint64_t monotonic_ns() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * kNsPerSecond + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace perfleet::zmtp
