// Infers the primary latency from accumulated latencies, as in the Kanata Bench paper.
//
//   primary latency       of one execution of the code under test; it isn't observed
//   accumulated latency   A^N: the sum of N primary latencies, which is what a test measures
//   test size             N;  group: the tests of one size;  sample size S: tests of a group
//
//   3.1   Y = A^N ÷ N
//   3.2   μ_Y = μ_P,  σ_Y² = σ_P² ÷ N      (primary latencies independent and alike)
//   3.3   S' = (s_A z ÷ (mean_A e))²        sample size for a half-width of e times the mean
//
// Variances are those of the sample (n − 1). Nothing is rounded on the way. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "query-engine/statistic/number/interval.h"
#include "storage/number/moments.h"

namespace perfleet {

// The normal factor as printed tables have it, to three decimals: 1.645 for 90 %, 1.960 for 95 %, 2.576 for 99 %.
[[nodiscard]] long double tabulated_factor(long double confidence);

struct PrimaryLatency {
    long double mean = 0;  // of Y, and of P
    long double variance_y = 0;
    long double deviation_y = 0;
    long double half_width = 0;  // of the mean's interval
    Interval interval;
    long double half_width_fraction = 0;  // of the mean
    long double variance_p = 0;
    long double deviation_p = 0;
    std::optional<SampleSize> needed;  // S'
};
// Nothing for fewer than two tests, test size 0 or a mean of 0. `factor` is z; `fraction` is e.
[[nodiscard]] std::optional<PrimaryLatency> infer_primary(const Moments& accumulated, std::uint64_t test_size,
                                                          long double factor, long double fraction);

struct LatencyGroup {
    std::uint64_t test_size = 0;
    Moments accumulated;
};

// Relative change of mean(A) ÷ N from the previous group; nothing for the first.
[[nodiscard]] std::vector<std::optional<long double>> relative_changes(std::span<const LatencyGroup> groups);

// The warm-up rule: converged from the first group after which all changes from group to group are at most `threshold`,
// up or down. Nothing if the last change is greater, or there is none.
[[nodiscard]] std::optional<std::size_t> converged_from(std::span<const LatencyGroup> groups, long double threshold);

// Fits A(N) = c + N p to two test sizes: A ÷ N exceeds p by c ÷ N.
struct FixedCost {
    long double slope = 0;  // p
    long double cost = 0;   // c
};
[[nodiscard]] std::optional<FixedCost> fixed_cost(const LatencyGroup& smaller, const LatencyGroup& larger);

// Tests whether the groups contradict 3.2: each group's estimate of σ_P², s_A² ÷ N, should be the same. P value of the
// greatest against the least (F test, two-sided), times the number of pairs. Nothing for fewer than two groups with a
// variance.
[[nodiscard]] std::optional<long double> unequal_variances(std::span<const LatencyGroup> groups);

}  // namespace perfleet
