// What a session's ticks mean in UTC, by its clock points.
//
// A plain value; no errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "schemas/vocabulary/time.h"

namespace perfleet {

// Ticks ↔ UTC by the session's clock points: linear between two points, at the nominal rate before the first and after
// the last. Never decreasing: a point whose UTC lies before that of an earlier one counts with the earlier one's. What
// doesn't fit UtcNs becomes its least or greatest value.
//
// A clock that was set isn't a clock that ran at another rate. Points of before are left out where the clock was set
// back by more than kSetNsMin, or knew no time at all (is_claim() of the later ones alone). Where it went on by more
// than kSetNsMin beyond its ticks, as after a suspend, the nominal rate leads up to the later point, and UTC jumps
// there.
class ClockMap {
public:
    // Points in any order. Of several with the same ticks the one with the least uncertainty counts.
    ClockMap(std::uint64_t ticks_per_second, std::vector<ClockPoint> points);

    [[nodiscard]] UtcNs utc_of(Ticks ticks) const;
    // The first tick whose utc_of is not before `utc`; the greatest tick when there is none.
    [[nodiscard]] Ticks ticks_of(UtcNs utc) const;
    [[nodiscard]] std::span<const ClockPoint> points() const { return points_; }

private:
    static constexpr std::int64_t kSetNsMin = 60 * kNsPerSecond;  // what drift and its corrections stay below

    void leave_out_what_was_unset();
    // Whether UTC went on so much further than the ticks, from the point at `index` to the next.
    [[nodiscard]] bool jumps_behind(std::size_t index) const;

    std::uint64_t ticks_per_second_;
    std::vector<ClockPoint> points_;  // ascending by ticks
};

}  // namespace perfleet
