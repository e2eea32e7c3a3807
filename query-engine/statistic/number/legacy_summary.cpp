#include "query-engine/statistic/number/legacy_summary.h"

#include <cmath>

namespace perfleet {

std::optional<LegacySummary> legacy_summary(const Moments& moments) {
    if (moments.count() < 2) {
        return std::nullopt;
    }
    LegacySummary summary;
    summary.mean = *moments.mean();
    const auto floor_of_mean = static_cast<std::uint64_t>(moments.sum() / moments.count());
    summary.variance = *moments.second_moment_about(floor_of_mean);
    const auto count = static_cast<long double>(moments.count());
    summary.standard_deviation = std::sqrt(summary.variance * count / (count - 1));
    if (summary.mean > 0) {
        summary.deviation_percent =
            static_cast<std::uint64_t>(std::floor(summary.standard_deviation / summary.mean * 100 + 0.5L));
    }
    return summary;
}

}  // namespace perfleet
