// The summary that sel4bench printed before 2026: to reproduce published figures only.
//
// Its mean went into the variance as an integer. So the variance is taken about the mean rounded down, divided by n;
// the standard deviation comes from the same sum divided by n − 1; the percentage is rounded to a whole one.
#pragma once

#include <cstdint>
#include <optional>

#include "storage/number/moments.h"

namespace perfleet {

struct LegacySummary {
    long double mean = 0;
    long double variance = 0;
    long double standard_deviation = 0;
    std::uint64_t deviation_percent = 0;
};
// Nothing for fewer than two values.
[[nodiscard]] std::optional<LegacySummary> legacy_summary(const Moments& moments);

}  // namespace perfleet
