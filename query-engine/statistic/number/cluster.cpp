#include "query-engine/statistic/number/cluster.h"

#include <algorithm>
#include <cmath>

#include "query-engine/statistic/number/distribution.h"
#include "schemas/vocabulary/assert.h"

namespace perfleet {

std::optional<MeanEstimate> clustered_mean(std::span<const Moments> clusters) {
    Moments all;
    std::uint64_t cluster_count = 0;
    for (const Moments& cluster : clusters) {
        all.merge(cluster);
        cluster_count += cluster.count() != 0 ? 1 : 0;
    }
    if (cluster_count < 2) {
        return std::nullopt;
    }
    const long double mean = *all.mean();
    long double squares = 0;
    for (const Moments& cluster : clusters) {
        if (cluster.count() != 0) {
            const long double residual = static_cast<long double>(cluster.count()) * (*cluster.mean() - mean);
            squares += residual * residual;
        }
    }
    const auto count = static_cast<long double>(all.count());
    const auto k = static_cast<long double>(cluster_count);
    return MeanEstimate{mean, k / (k - 1) * squares / count / count, k - 1};
}

ClusteredShare clustered_share(std::span<const Stratum> strata) {
    ClusteredShare share;
    for (const Stratum& stratum : strata) {
        for (const HitCount& cluster : stratum) {
            share.sum.hits += cluster.hits;
            share.sum.count += cluster.count;
        }
    }
    const auto residual = [&](const HitCount& cluster) {
        return static_cast<long double>(cluster.hits) - share.share() * static_cast<long double>(cluster.count);
    };
    long double squares = 0;
    for (const Stratum& stratum : strata) {
        long double k = 0;
        long double sum = 0;
        for (const HitCount& cluster : stratum) {
            k += cluster.count != 0 ? 1 : 0;
            sum += residual(cluster);
        }
        if (k < 2) {
            continue;
        }
        long double of_stratum = 0;
        for (const HitCount& cluster : stratum) {
            const long double distance = cluster.count != 0 ? residual(cluster) - sum / k : 0;
            of_stratum += distance * distance;
        }
        squares += k / (k - 1) * of_stratum;
        share.degrees += k - 1;
    }
    const long double independent = static_cast<long double>(share.sum.count) * share.share() * (1 - share.share());
    share.effect = independent > 0 ? std::max(1.0L, squares / independent) : 1.0L;
    return share;
}

long double effective_count(const ClusteredShare& share, long double confidence) {
    return effective_count_at(share, (1 - confidence) / 2);
}

long double effective_count_at(const ClusteredShare& share, long double tail) {
    if (share.degrees <= 0) {
        return 0;
    }
    const long double widening =
        quick_student_quantile(static_cast<double>(tail), static_cast<double>(share.degrees)) / normal_quantile(tail);
    return static_cast<long double>(share.sum.count) / share.effect / (widening * widening);
}

Interval share_interval(long double share, long double count, long double confidence) {
    const long double tail = (1 - confidence) / 2;
    return {share_low(share, count, tail), share_high(share, count, tail)};
}

long double share_low(long double share, long double count, long double tail) {
    PERFLEET_ASSERT(count > 0 && share >= 0 && share <= 1);
    const long double hits = share * count;
    return hits <= 0 ? 0
                     : quick_beta_quantile(static_cast<double>(tail), static_cast<double>(hits),
                                           static_cast<double>(count - hits + 1));
}

long double share_high(long double share, long double count, long double tail) {
    PERFLEET_ASSERT(count > 0 && share >= 0 && share <= 1);
    const long double hits = share * count;
    const long double others = count - hits;
    // From the upper tail: a small share keeps its digits.
    return others <= 0 ? 1
                       : quick_beta_upper_quantile(static_cast<double>(tail), static_cast<double>(hits + 1),
                                                   static_cast<double>(others));
}

std::optional<RankInterval> rank_interval(Quantile quantile, std::uint64_t count, long double effective_count,
                                          long double confidence) {
    const auto fewer = static_cast<std::uint64_t>(std::min(effective_count, static_cast<long double>(count)));
    auto interval = rank_interval(quantile, fewer, confidence);
    if (!interval || fewer == count) {
        return interval;
    }
    const long double scale = static_cast<long double>(count) / static_cast<long double>(fewer);
    interval->low = static_cast<std::uint64_t>(static_cast<long double>(interval->low) * scale);
    interval->high = std::min(
        count - 1, static_cast<std::uint64_t>(std::ceil(static_cast<long double>(interval->high + 1) * scale)) - 1);
    return interval;
}

}  // namespace perfleet
