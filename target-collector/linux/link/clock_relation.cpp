#include "target-collector/linux/link/clock_relation.h"

#include <cstdlib>

#include "schemas/host/host_clock.h"

namespace perfleet {
namespace {

std::int64_t offset_of(const ClockPoint& point) {
    return point.utc_ns.value - static_cast<std::int64_t>(point.ticks.value);
}

}  // namespace

Ticks monotonic_now() { return Ticks{monotonic_now_ns()}; }

ClockPoint observe_clocks() {
    constexpr int kAttempts = 5;
    ClockPoint best;
    for (int i = 0; i < kAttempts; ++i) {
        const std::uint64_t before = monotonic_now_ns();
        const UtcNs utc = utc_now();
        const std::uint64_t after = monotonic_now_ns();
        const std::uint64_t uncertainty_ns = ((after - before) / 2) + 1;
        if (i == 0 || uncertainty_ns < best.uncertainty_ns) {
            best = {Ticks{before + ((after - before) / 2)}, utc, uncertainty_ns};
        }
    }
    return best;
}

std::optional<ClockPoint> ClockWatch::observe() {
    const ClockPoint point = observe_clocks();
    const bool is_due = point.ticks.value - last_.ticks.value >= kIntervalNs;
    const bool has_stepped =
        std::llabs(offset_of(point) - offset_of(last_)) > kStepNsMin + static_cast<std::int64_t>(point.uncertainty_ns);
    if (!is_due && !has_stepped) {
        return std::nullopt;
    }
    last_ = point;
    return point;
}

UtcNs BucketClock::now(Ticks ticks) const {
    const std::int64_t offset_ns = offset_ns_.load(std::memory_order_relaxed);
    if (offset_ns == kUnknown) {
        return utc_now();
    }
    return UtcNs{static_cast<std::int64_t>(ticks.value) + offset_ns};
}

}  // namespace perfleet
