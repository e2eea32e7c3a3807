// The clocks of a host. Hosts only; any thread.
#pragma once

#include <cstdint>
#include <ctime>

#include "schemas/vocabulary/time.h"

namespace perfleet {

[[nodiscard]] inline std::uint64_t clock_ns(clockid_t clock) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * std::uint64_t{kNsPerSecond} +
           static_cast<std::uint64_t>(time.tv_nsec);
}

// Time since the machine started, by a clock that can't be set.
[[nodiscard]] inline std::uint64_t monotonic_now_ns() { return clock_ns(CLOCK_MONOTONIC); }

[[nodiscard]] inline UtcNs utc_now() { return UtcNs{static_cast<std::int64_t>(clock_ns(CLOCK_REALTIME))}; }

}  // namespace perfleet
