// Converts a session's ticks to UTC, by its clock points.
//
// A plain value; no errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "schemas/vocabulary/time.h"

namespace perfleet {

// Converts ticks ↔ UTC: linearly between two points, at the nominal rate before the first and after the last. Never
// decreases: a point whose UTC is before that of an earlier one counts with the earlier one's UTC. Results that don't
// fit UtcNs are clamped.
//
// Setting a clock isn't the same as running at another rate. Points from before are left out if the clock was set back
// by more than kSetNsMin, or had no valid time before (is_claim() only of later ones). If UTC advanced more than
// kSetNsMin beyond the ticks, as after a suspend, the nominal rate holds until the later point, where UTC jumps.
class ClockMap {
public:
    // Points in any order. Of several with the same ticks, the one with the least uncertainty counts.
    ClockMap(std::uint64_t ticks_per_second, std::vector<ClockPoint> points);

    [[nodiscard]] UtcNs utc_of(Ticks ticks) const;
    // The first tick whose utc_of is not before `utc`; the greatest tick when there is none.
    [[nodiscard]] Ticks ticks_of(UtcNs utc) const;
    [[nodiscard]] std::span<const ClockPoint> points() const { return points_; }

private:
    static constexpr std::int64_t kSetNsMin = 60 * kNsPerSecond;  // above any drift and its corrections

    void leave_out_what_was_unset();
    // Whether UTC advances by kSetNsMin more than the ticks from the point at `index` to the next.
    [[nodiscard]] bool jumps_behind(std::size_t index) const;

    std::uint64_t ticks_per_second_;
    std::vector<ClockPoint> points_;  // ascending by ticks
};

}  // namespace perfleet
