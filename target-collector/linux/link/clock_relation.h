// How the session's clock (CLOCK_MONOTONIC) and UTC (CLOCK_REALTIME) relate.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "schemas/vocabulary/time.h"

namespace perfleet {

[[nodiscard]] Ticks monotonic_now();

// Reads UTC between two readings of the session's clock, the closest of a few; half their distance is the uncertainty.
[[nodiscard]] ClockPoint observe_clocks();

// Which observations are worth telling: one a minute, and one whenever UTC was set.
class ClockWatch {
public:
    // `start` is told already.
    explicit ClockWatch(const ClockPoint& start) : last_{start} {}

    // An observation to be told now; empty when nothing has changed.
    [[nodiscard]] std::optional<ClockPoint> observe();

private:
    static constexpr std::uint64_t kIntervalNs = 60'000'000'000;
    static constexpr std::int64_t kStepNsMin = 1'000'000;

    ClockPoint last_;
};

// The UTC that buckets count by: the gateway's once it is known, until then our own. Set by the wire's thread, read by
// the source's.
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
