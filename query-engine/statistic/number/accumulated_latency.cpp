#include "query-engine/statistic/number/accumulated_latency.h"

#include <algorithm>
#include <cmath>

#include "query-engine/statistic/number/distribution.h"

namespace perfleet {
namespace {

std::optional<long double> mean_of_one(const LatencyGroup& group) {
    const auto mean = group.accumulated.mean();
    return mean && group.test_size != 0 ? std::optional{*mean / static_cast<long double>(group.test_size)}
                                        : std::nullopt;
}

}  // namespace

long double tabulated_factor(long double confidence) {
    return std::floor(interval_factor(MeanBasis::kNormal, 0, confidence) * 1000 + 0.5L) / 1000;
}

std::optional<PrimaryLatency> infer_primary(const Moments& accumulated, std::uint64_t test_size, long double factor,
                                            long double fraction) {
    const auto variance_a = accumulated.variance();
    if (!variance_a || test_size == 0 || accumulated.sum() == 0) {
        return std::nullopt;
    }
    const auto size = static_cast<long double>(test_size);
    PrimaryLatency primary;
    primary.mean = *accumulated.mean() / size;
    primary.variance_y = *variance_a / (size * size);
    primary.deviation_y = std::sqrt(primary.variance_y);
    primary.half_width = factor * primary.deviation_y / std::sqrt(static_cast<long double>(accumulated.count()));
    primary.interval = {primary.mean - primary.half_width, primary.mean + primary.half_width};
    primary.half_width_fraction = primary.half_width / primary.mean;
    primary.variance_p = primary.variance_y * size;
    primary.deviation_p = std::sqrt(primary.variance_p);
    primary.needed = sample_size_for(accumulated, factor, fraction);
    return primary;
}

std::vector<std::optional<long double>> relative_changes(std::span<const LatencyGroup> groups) {
    std::vector<std::optional<long double>> changes(groups.size());
    for (std::size_t i = 1; i < groups.size(); ++i) {
        const auto before = mean_of_one(groups[i - 1]);
        const auto now = mean_of_one(groups[i]);
        if (before && now && *before > 0) {
            changes[i] = (*now - *before) / *before;
        }
    }
    return changes;
}

std::optional<std::size_t> converged_from(std::span<const LatencyGroup> groups, long double threshold) {
    const auto changes = relative_changes(groups);
    std::size_t first = groups.size();
    while (first > 1 && changes[first - 1] && std::abs(*changes[first - 1]) <= threshold) {
        --first;
    }
    // After group first − 1 no change exceeds the threshold. If that is the last group, it shows nothing.
    return first < groups.size() ? std::optional{first - 1} : std::nullopt;
}

std::optional<FixedCost> fixed_cost(const LatencyGroup& smaller, const LatencyGroup& larger) {
    const auto first = smaller.accumulated.mean();
    const auto second = larger.accumulated.mean();
    if (!first || !second || smaller.test_size >= larger.test_size) {
        return std::nullopt;
    }
    FixedCost line;
    line.slope = (*second - *first) / static_cast<long double>(larger.test_size - smaller.test_size);
    line.cost = *first - static_cast<long double>(smaller.test_size) * line.slope;
    return line;
}

std::optional<long double> unequal_variances(std::span<const LatencyGroup> groups) {
    struct Estimate {
        long double variance_p = 0;
        long double degrees = 0;
    };
    std::vector<Estimate> estimates;
    for (const LatencyGroup& group : groups) {
        if (const auto variance = group.accumulated.variance(); variance && group.test_size != 0) {
            estimates.push_back({*variance / static_cast<long double>(group.test_size),
                                 static_cast<long double>(group.accumulated.count() - 1)});
        }
    }
    if (estimates.size() < 2) {
        return std::nullopt;
    }
    const auto [least, greatest] =
        std::minmax_element(estimates.begin(), estimates.end(),
                            [](const Estimate& a, const Estimate& b) { return a.variance_p < b.variance_p; });
    if (greatest->variance_p <= least->variance_p) {
        return 1;
    }
    const auto pairs = static_cast<long double>(estimates.size() * (estimates.size() - 1)) / 2;
    // P(F > f) of F with (d1, d2) degrees: I at d2 ÷ (d2 + d1 f).
    const long double weighted = greatest->degrees * greatest->variance_p;
    const long double rest = least->degrees * least->variance_p;
    const long double tail = incomplete_beta(rest / (rest + weighted), least->degrees / 2, greatest->degrees / 2);
    return std::min(1.0L, 2 * tail * pairs);
}

}  // namespace perfleet
