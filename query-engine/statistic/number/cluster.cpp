#include "query-engine/statistic/number/cluster.h"

#include <algorithm>
#include <cmath>

#include "query-engine/statistic/number/distribution.h"
#include "schemas/vocabulary/assert.h"

namespace perfleet {

namespace {

// A run's contribution to the errors of both estimates: (sum − expected sum) ÷ values of the side.
struct Residuals {
    long double before = 0;
    long double after = 0;
    bool is_before = false;
    bool is_after = false;
};

struct ResidualSums {
    long double before = 0;  // variance
    long double after = 0;
    long double covariance = 0;
    long double degrees = 0;  // 0: too few runs
};

ResidualSums sums_of(std::span<const Residuals> runs) {
    ResidualSums sums;
    long double before_count = 0;
    long double after_count = 0;
    long double pair_count = 0;
    for (const Residuals& run : runs) {
        sums.before += run.before * run.before;
        sums.after += run.after * run.after;
        sums.covariance += run.before * run.after;
        before_count += run.is_before ? 1 : 0;
        after_count += run.is_after ? 1 : 0;
        pair_count += run.is_before && run.is_after ? 1 : 0;
    }
    if (before_count < 2 || after_count < 2) {
        return sums;
    }
    if (pair_count == 0) {
        sums.before *= before_count / (before_count - 1);
        sums.after *= after_count / (after_count - 1);
        sums.degrees = welch_degrees(sums.before, before_count - 1, sums.after, after_count - 1);
        return sums;
    }
    // If all runs are paired, one mean of differences costs one degree of freedom; otherwise two means cost two.
    const long double count = before_count + after_count - pair_count;
    sums.degrees = count - (pair_count == count ? 1 : 2);
    const long double scale = sums.degrees > 0 ? count / sums.degrees : 0;
    sums.before *= scale;
    sums.after *= scale;
    sums.covariance *= scale;
    return sums;
}

}  // namespace

std::optional<MeanContrast> mean_contrast(std::span<const RunPair> runs) {
    Moments before;
    Moments after;
    for (const RunPair& run : runs) {
        before.merge(run.before);
        after.merge(run.after);
    }
    if (before.count() == 0 || after.count() == 0) {
        return std::nullopt;
    }
    MeanContrast means{*before.mean(), *after.mean(), mean_difference(before, after)};
    const auto residual = [](const Moments& run, const Moments& all) {
        return run.count() == 0 ? 0
                                : static_cast<long double>(run.count()) * mean_difference(all, run) /
                                      static_cast<long double>(all.count());
    };
    std::vector<Residuals> residuals;
    for (const RunPair& run : runs) {
        residuals.push_back({residual(run.before, before), residual(run.after, after), run.before.count() != 0,
                             run.after.count() != 0});
    }
    const ResidualSums sums = sums_of(residuals);
    if (sums.degrees <= 0) {
        return std::nullopt;
    }
    means.first_variance = sums.before;
    means.second_variance = sums.after;
    means.covariance = sums.covariance;
    means.degrees = sums.degrees;
    return means;
}

SharePair share_pair(std::span<const RunHits> runs, long double weight_of_one_before, long double weight_of_one_after) {
    SharePair pair;
    pair.before.weight_of_one = weight_of_one_before;
    pair.after.weight_of_one = weight_of_one_after;
    for (const RunHits& run : runs) {
        pair.before.sum.hits += run.before.hits;
        pair.before.sum.count += run.before.count;
        pair.after.sum.hits += run.after.hits;
        pair.after.sum.count += run.after.count;
    }
    if (pair.before.sum.count == 0 || pair.after.sum.count == 0) {
        return pair;
    }
    const auto residual = [](const HitCount& run, const ClusteredShare& all) {
        return (static_cast<long double>(run.hits) - all.share() * static_cast<long double>(run.count)) /
               static_cast<long double>(all.sum.count);
    };
    std::vector<Residuals> residuals;
    for (const RunHits& run : runs) {
        residuals.push_back({residual(run.before, pair.before), residual(run.after, pair.after), run.before.count != 0,
                             run.after.count != 0});
    }
    const ResidualSums sums = sums_of(residuals);
    const auto independent = [](const ClusteredShare& side) {
        return side.share() * (1 - side.share()) * side.weight_of_one / static_cast<long double>(side.sum.count);
    };
    const auto effect = [](long double variance, long double least) {
        return least > 0 ? std::max(1.0L, variance / least) : 1.0L;
    };
    if (sums.covariance != 0) {
        pair.before.effect =
            effect(sums.before + sums.after - 2 * sums.covariance, independent(pair.before) + independent(pair.after));
        pair.after.effect = pair.before.effect;
    } else {
        pair.before.effect = effect(sums.before, independent(pair.before));
        pair.after.effect = effect(sums.after, independent(pair.after));
    }
    pair.before.degrees = sums.degrees;
    pair.after.degrees = sums.degrees;
    return pair;
}

ClusteredShare clustered_share(std::span<const Stratum> strata, long double weight_of_one) {
    ClusteredShare share;
    share.is_of_slices = true;
    share.weight_of_one = weight_of_one;
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
    const long double independent =
        static_cast<long double>(share.sum.count) * weight_of_one * share.share() * (1 - share.share());
    share.effect = independent > 0 ? std::max(1.0L, squares / independent) : 1.0L;
    return share;
}

ClusteredShare clustered_share(const ClusterSums& sums, long double weight_of_one) {
    ClusteredShare share;
    share.weight_of_one = weight_of_one;
    share.sum = sums.sum;
    if (sums.clusters < 2) {
        return share;
    }
    const auto k = static_cast<long double>(sums.clusters);
    const long double p = share.share();
    // Residuals are hits − p × count; their mean is 0.
    const long double squares =
        k / (k - 1) * std::max(0.0L, sums.hits_squared - 2 * p * sums.hits_by_count + p * p * sums.count_squared);
    share.degrees = k - 1;
    const long double independent = static_cast<long double>(share.sum.count) * weight_of_one * p * (1 - p);
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
    const long double excess = share.effect * widening * widening - 1;
    const long double chance = share.is_of_slices && excess > 0 ? 2 / (share.degrees * excess) : 0;
    return static_cast<long double>(share.sum.count) / share.weight_of_one / (1 + std::max(0.0L, excess - chance));
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
    // Computed from the upper tail, so that a small share keeps its digits.
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
