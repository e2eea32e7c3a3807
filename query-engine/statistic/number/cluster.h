// Statistics of clustered values. Values taken together (in one run, in one slice of time) are alike and carry less
// information than as many independent ones; the variation between clusters shows how much less.
//
// Pure functions. Clusters are independent of each other.
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

// One run's values; both sides are set if the same target was measured before and after.
struct RunPair {
    Moments before;  // empty: not in this side
    Moments after;
};
// The means of all values of each side; their variances from the spread of the runs' sums around those that the means
// predict (linearised ratio estimator: Cochran, 1977, 6.3). For pairs the difference counts, so that differences
// between targets cancel. Nothing if a side has fewer than two runs with values.
[[nodiscard]] std::optional<MeanContrast> mean_contrast(std::span<const RunPair> runs);

// Number of hits among `count` observations; or, of observations that weigh differently, the weights of both.
struct HitCount {
    std::uint64_t hits = 0;
    std::uint64_t count = 0;
};
// Clusters that are compared with each other only: slices of one run.
using Stratum = std::vector<HitCount>;

// A share and the loss of information due to clustering.
struct ClusteredShare {
    HitCount sum;
    long double effect = 1;   // design effect, at least 1: variance by clusters ÷ variance of independent values
    long double degrees = 0;  // of freedom: clusters with values beyond the first of each stratum
    // The weight that stands for one observation of equal weights: the sum of squared weights ÷ the sum of weights
    // (Kish, 1965).
    long double weight_of_one = 1;
    bool is_of_slices = false;  // clusters are slices of time, which needn't differ, as runs do

    [[nodiscard]] long double share() const {
        return sum.count == 0 ? 0 : static_cast<long double>(sum.hits) / static_cast<long double>(sum.count);
    }
};
[[nodiscard]] ClusteredShare clustered_share(std::span<const Stratum> strata, long double weight_of_one = 1);

// Running sums of one stratum's clusters, if there are too many to keep.
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
    // Adds a cluster's hits. add_count() must have been called once for the cluster's `count`.
    void add_hits(std::uint64_t hits, std::uint64_t count) {
        sum.hits += hits;
        hits_squared += static_cast<long double>(hits) * static_cast<long double>(hits);
        hits_by_count += static_cast<long double>(hits) * static_cast<long double>(count);
    }
};
// The share of one stratum with these clusters.
[[nodiscard]] ClusteredShare clustered_share(const ClusterSums& sums, long double weight_of_one = 1);

// Hits of one run, like RunPair.
struct RunHits {
    HitCount before;
    HitCount after;
};
// Two shares with the design effects and the degrees of freedom of their difference, like mean_contrast() for means. No
// degrees of freedom if a side has fewer than two runs with samples.
struct SharePair {
    ClusteredShare before;
    ClusteredShare after;
};
[[nodiscard]] SharePair share_pair(std::span<const RunHits> runs, long double weight_of_one_before = 1,
                                   long double weight_of_one_after = 1);

// The effective sample size of a share at this confidence: n ÷ (design effect × (t ÷ z)²), never more than n (Korn and
// Graubard, 1998). 0 without a degree of freedom. Of slices the excess x of that factor over 1 is shrunk to
// x − 2 ÷ (degrees × x), at least 0 (James and Stein, 1961): 2 ÷ degrees is the variance of a design effect that is 1,
// so what chance alone explains doesn't widen an interval.
[[nodiscard]] long double effective_count(const ClusteredShare& share, long double confidence);

// Clopper and Pearson's interval of a share of `count` values; count > 0, not necessarily whole. Ten digits.
[[nodiscard]] Interval share_interval(long double share, long double count, long double confidence);

// Parts of the two functions above, for a tail of (1 − confidence) ÷ 2: effective count, and the interval's ends.
[[nodiscard]] long double effective_count_at(const ClusteredShare& share, long double tail);
[[nodiscard]] long double share_low(long double share, long double count, long double tail);
[[nodiscard]] long double share_high(long double share, long double count, long double tail);

// Like rank_interval(), for the values of all clusters together, with an effective sample size (Woodruff, 1952).
[[nodiscard]] std::optional<RankInterval> rank_interval(Quantile quantile, std::uint64_t count,
                                                        long double effective_count, long double confidence);

}  // namespace perfleet
