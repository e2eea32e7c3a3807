// Values that are alike because they were taken together (in one run, in one slice of time) tell less than as many
// independent ones. How much less is seen from how runs differ.
//
// Pure functions. A cluster is what was taken together; clusters are independent of each other.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "query-engine/statistic/number/comparison.h"
#include "query-engine/statistic/number/interval.h"
#include "query-engine/statistic/number/quantile.h"
#include "storage/number/moments.h"

namespace perfleet {

// What the runs of a comparison measured: each of one side, or of both where it is the same target before and after.
struct RunPair {
    Moments before;  // empty: it has no part in this side
    Moments after;
};
// The means of all values; their variances from how far the runs' sums lie from what the means let expect (linearised
// ratio estimator: Cochran, 1977, 6.3). Of pairs the difference counts, so that how targets differ is no part of it.
// Nothing where a side has fewer than two runs with values.
[[nodiscard]] std::optional<MeanContrast> mean_contrast(std::span<const RunPair> runs);

// How often something was the case among so many.
struct HitCount {
    std::uint64_t hits = 0;
    std::uint64_t count = 0;
};
// Clusters that are compared with each other only: slices of one run.
using Stratum = std::vector<HitCount>;

// A share and how much less than independent values these tell of it.
struct ClusteredShare {
    HitCount sum;
    long double effect = 1;  // Kish's design effect, at least 1: variance by clusters ÷ variance of independent values
    long double degrees = 0;  // of freedom: clusters with values beyond the first of each stratum

    [[nodiscard]] long double share() const {
        return sum.count == 0 ? 0 : static_cast<long double>(sum.hits) / static_cast<long double>(sum.count);
    }
};
[[nodiscard]] ClusteredShare clustered_share(std::span<const Stratum> strata);

// What the share of one stratum takes of its clusters, where they are too many to be kept.
struct ClusterSums {
    std::uint64_t clusters = 0;  // with a count
    HitCount sum;
    long double hits_squared = 0;
    long double hits_by_count = 0;
    long double count_squared = 0;

    void add_count(std::uint64_t count) {
        clusters += count != 0 ? 1 : 0;
        sum.count += count;
        count_squared += static_cast<long double>(count) * static_cast<long double>(count);
    }
    // Of a cluster of `count`, which add_count() has had, once.
    void add_hits(std::uint64_t hits, std::uint64_t count) {
        sum.hits += hits;
        hits_squared += static_cast<long double>(hits) * static_cast<long double>(hits);
        hits_by_count += static_cast<long double>(hits) * static_cast<long double>(count);
    }
};
// As of a stratum of these clusters.
[[nodiscard]] ClusteredShare clustered_share(const ClusterSums& sums);

// As RunPair, of hits.
struct RunHits {
    HitCount before;
    HitCount after;
};
// Two shares with the design effects and the degrees of freedom of their difference: what mean_contrast() is to means.
// Without degrees where a side has fewer than two runs with samples.
struct SharePair {
    ClusteredShare before;
    ClusteredShare after;
};
[[nodiscard]] SharePair share_pair(std::span<const RunHits> runs);

// The number of independent values that would tell a share as well as these do, at this confidence: n ÷ (design effect
// × (t ÷ z)²), never more than n (Korn and Graubard, 1998). 0 without a degree of freedom.
[[nodiscard]] long double effective_count(const ClusteredShare& share, long double confidence);

// Clopper and Pearson's interval of a share of `count` values, which need be no whole number; count > 0. Ten digits.
[[nodiscard]] Interval share_interval(long double share, long double count, long double confidence);

// What those two are made of, for a tail of (1 − confidence) ÷ 2: the interval's ends.
[[nodiscard]] long double effective_count_at(const ClusteredShare& share, long double tail);
[[nodiscard]] long double share_low(long double share, long double count, long double tail);
[[nodiscard]] long double share_high(long double share, long double count, long double tail);

// As rank_interval(), of the values of all clusters together, where as many independent ones would be
// `effective_count` (Woodruff, 1952).
[[nodiscard]] std::optional<RankInterval> rank_interval(Quantile quantile, std::uint64_t count,
                                                        long double effective_count, long double confidence);

}  // namespace perfleet
