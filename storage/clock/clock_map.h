// What a session's ticks mean in UTC, by its clock points.
//
// A plain value; no errors.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schemas/vocabulary/time.h"

namespace perfleet {

// Ticks ↔ UTC by the session's clock points: linear between two points, at the nominal rate before the first and after
// the last. Never decreasing: a point whose UTC lies before that of an earlier one counts with the earlier one's. What
// doesn't fit UtcNs becomes its least or greatest value.
class ClockMap {
public:
    // Points in any order. Of several with the same ticks the one with the least uncertainty counts.
    ClockMap(std::uint64_t ticks_per_second, std::vector<ClockPoint> points);

    [[nodiscard]] UtcNs utc_of(Ticks ticks) const;
    // The first tick whose utc_of is not before `utc`; the greatest tick when there is none.
    [[nodiscard]] Ticks ticks_of(UtcNs utc) const;
    [[nodiscard]] std::span<const ClockPoint> points() const { return points_; }

private:
    std::uint64_t ticks_per_second_;
    std::vector<ClockPoint> points_;  // ascending by ticks
};

}  // namespace perfleet
