// The relation of the session's clock (CLOCK_MONOTONIC) and UTC (CLOCK_REALTIME).
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "schemas/vocabulary/time.h"

namespace perfleet {

[[nodiscard]] Ticks monotonic_now();

// Reads UTC between two readings of the session's clock; uses the closest of a few attempts. Half their distance is the
// uncertainty.
[[nodiscard]] ClockPoint observe_clocks();

// Decides which observations to send: one a minute, and one whenever UTC was set.
class ClockWatch {
public:
    // `start` has been sent already.
    explicit ClockWatch(const ClockPoint& start) : last_{start} {}

    // The observation to send now; empty if none is due.
    [[nodiscard]] std::optional<ClockPoint> observe();

private:
    static constexpr std::uint64_t kIntervalNs = 60'000'000'000;
    static constexpr std::int64_t kStepNsMin = 1'000'000;

    ClockPoint last_;
};

// The UTC that decides buckets: the gateway's once it is known, until then the host's. Set by the wire's thread, read
// by the source's.
class BucketClock {
public:
    void set_gateway_utc(UtcNs utc, Ticks at) {
        offset_ns_.store(utc.value - static_cast<std::int64_t>(at.value), std::memory_order_relaxed);
    }
    [[nodiscard]] UtcNs now(Ticks ticks) const;

private:
    static constexpr std::int64_t kUnknown = INT64_MIN;
    std::atomic<std::int64_t> offset_ns_{kUnknown};
};

}  // namespace perfleet
