#include "storage/clock/clock_map.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "schemas/vocabulary/clock_claim.h"

namespace perfleet {
namespace {

__extension__ using Uint128 = unsigned __int128;
__extension__ using Int128 = __int128;

constexpr auto kNs = static_cast<Uint128>(kNsPerSecond);
constexpr std::int64_t kUtcMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kUtcMax = std::numeric_limits<std::int64_t>::max();

UtcNs saturated(Int128 utc_ns) {
    if (utc_ns < Int128{kUtcMin}) {
        return UtcNs{kUtcMin};
    }
    return UtcNs{utc_ns > Int128{kUtcMax} ? kUtcMax : static_cast<std::int64_t>(utc_ns)};
}

}  // namespace

ClockMap::ClockMap(std::uint64_t ticks_per_second, std::vector<ClockPoint> points)
    : ticks_per_second_{ticks_per_second == 0 ? static_cast<std::uint64_t>(kNsPerSecond) : ticks_per_second} {
    if (points.empty()) {
        points.push_back(ClockPoint{});
    }
    std::sort(points.begin(), points.end(), [](const ClockPoint& a, const ClockPoint& b) {
        return std::tuple{a.ticks, a.uncertainty_ns, a.utc_ns} < std::tuple{b.ticks, b.uncertainty_ns, b.utc_ns};
    });
    for (const ClockPoint& point : points) {
        if (points_.empty() || points_.back().ticks != point.ticks) {
            points_.push_back(point);
        }
    }
    leave_out_what_was_unset();
    for (std::size_t i = 1; i < points_.size(); ++i) {
        points_[i].utc_ns = std::max(points_[i].utc_ns, points_[i - 1].utc_ns);
    }
}

void ClockMap::leave_out_what_was_unset() {
    if (std::any_of(points_.begin(), points_.end(), [](const ClockPoint& point) { return is_claim(point.utc_ns); })) {
        std::erase_if(points_, [](const ClockPoint& point) { return !is_claim(point.utc_ns); });
    }
    for (std::size_t i = points_.size() - 1; i > 0; --i) {
        if (Int128{points_[i].utc_ns.value} + kSetNsMin < points_[i - 1].utc_ns.value) {
            points_.erase(points_.begin(), points_.begin() + static_cast<std::ptrdiff_t>(i));
            return;
        }
    }
}

bool ClockMap::jumps_behind(std::size_t index) const {
    const ClockPoint& start = points_[index];
    const ClockPoint& end = points_[index + 1];
    const Uint128 ticks = end.ticks.value - start.ticks.value;
    const auto nominal_ns = static_cast<Int128>(ticks * kNs / ticks_per_second_);
    return Int128{end.utc_ns.value} - start.utc_ns.value > kSetNsMin + nominal_ns + nominal_ns / 100;
}

UtcNs ClockMap::utc_of(Ticks ticks) const {
    const auto after = std::upper_bound(points_.begin(), points_.end(), ticks,
                                        [](Ticks value, const ClockPoint& point) { return value < point.ticks; });
    if (after == points_.begin()) {
        const Uint128 before_ticks = after->ticks.value - ticks.value;
        // Rounded up because it is subtracted: the result is rounded down as everywhere else.
        const Uint128 before_ns = (before_ticks * kNs + ticks_per_second_ - 1) / ticks_per_second_;
        return saturated(Int128{after->utc_ns.value} - static_cast<Int128>(before_ns));
    }
    const ClockPoint& start = *(after - 1);
    const Uint128 since_ticks = ticks.value - start.ticks.value;
    if (after == points_.end() || jumps_behind(static_cast<std::size_t>(after - points_.begin()) - 1)) {
        return saturated(Int128{start.utc_ns.value} + static_cast<Int128>(since_ticks * kNs / ticks_per_second_));
    }
    // At most (2^64 - 1)^2: fits. The difference is not negative: UTC doesn't decrease from point to point.
    const auto span_ns = static_cast<Uint128>(Int128{after->utc_ns.value} - Int128{start.utc_ns.value});
    const Uint128 span_ticks = after->ticks.value - start.ticks.value;
    return saturated(Int128{start.utc_ns.value} + static_cast<Int128>(since_ticks * span_ns / span_ticks));
}

Ticks ClockMap::ticks_of(UtcNs utc) const {
    const auto distance_ns = [](UtcNs from, UtcNs to) { return static_cast<Uint128>(Int128{to.value} - from.value); };
    const auto end = std::lower_bound(points_.begin(), points_.end(), utc,
                                      [](const ClockPoint& point, UtcNs value) { return point.utc_ns < value; });
    if (end == points_.begin()) {
        const Uint128 before_ticks = distance_ns(utc, end->utc_ns) * ticks_per_second_ / kNs;
        const bool is_at_zero = before_ticks >= end->ticks.value || utc == UtcNs{kUtcMin};
        return Ticks{is_at_zero ? 0 : end->ticks.value - static_cast<std::uint64_t>(before_ticks)};
    }
    // utc_of rounds down, so this rounds up. The span isn't 0: its end is after `utc`, its start isn't.
    const ClockPoint& start = *(end - 1);
    const bool is_last = end == points_.end();
    const bool is_nominal = is_last || jumps_behind(static_cast<std::size_t>(end - points_.begin()) - 1);
    const Uint128 span_ns = is_nominal ? kNs : distance_ns(start.utc_ns, end->utc_ns);
    const Uint128 span_ticks = is_nominal ? ticks_per_second_ : end->ticks.value - start.ticks.value;
    const Uint128 scaled = distance_ns(start.utc_ns, utc) * span_ticks;
    const Uint128 ticks = start.ticks.value + scaled / span_ns + (scaled % span_ns == 0 ? 0 : 1);
    const std::uint64_t ticks_max = is_last ? std::numeric_limits<std::uint64_t>::max() : end->ticks.value;
    return Ticks{static_cast<std::uint64_t>(std::min(ticks, Uint128{ticks_max}))};
}

}  // namespace perfleet
