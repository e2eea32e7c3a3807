// Time as a claim: ticks of a target's own clock, UTC nanoseconds, and the points that relate them.
//
// Freestanding. Rows carry ticks; queries convert them to UTC.
#pragma once

#include <compare>
#include <cstdint>

#include "schemas/vocabulary/ids.h"

namespace perfleet {

// A reading of the session's own clock, in that clock's ticks (`ClockDescription::ticks_per_second`).
using Ticks = StrongInteger<struct TicksTag, std::uint64_t>;

// Nanoseconds since 1970-01-01T00:00Z.
using UtcNs = StrongInteger<struct UtcNsTag, std::int64_t>;

// An observation that relates the two clocks. `uncertainty_ns` bounds the error of the pair in either direction.
struct ClockPoint {
    Ticks ticks;
    UtcNs utc_ns;
    std::uint64_t uncertainty_ns = 0;

    friend constexpr auto operator<=>(const ClockPoint&, const ClockPoint&) = default;
};

inline constexpr std::int64_t kNsPerSecond = 1'000'000'000;
inline constexpr std::int64_t kBucketDurationS = 3600;

// The bucket of a time; times before 1970 are in the first bucket.
[[nodiscard]] constexpr BucketNumber bucket_of(UtcNs utc) {
    const std::int64_t bucket = utc.value / kNsPerSecond / kBucketDurationS;
    return BucketNumber{bucket < 0 ? 0U : static_cast<std::uint32_t>(bucket)};
}

}  // namespace perfleet
