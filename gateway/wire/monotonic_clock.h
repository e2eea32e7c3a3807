// The clock that nobody sets: ns since the machine started.
#pragma once

#include <cstdint>
#include <ctime>

namespace perfleet {

[[nodiscard]] inline std::uint64_t monotonic_now_ns() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace perfleet
