// What accumulated latencies say of the primary latency: the inference of the Kanata Bench paper.
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

// How mean(A) ÷ N changes from one group to the next, as a fraction of the one before; nothing for the first.
[[nodiscard]] std::vector<std::optional<long double>> relative_changes(std::span<const LatencyGroup> groups);

// The rule for warm-up: converged from the first group behind which no change from group to group is greater than
// `threshold`, up or down. Nothing when even the last change is greater, or there is none.
[[nodiscard]] std::optional<std::size_t> converged_from(std::span<const LatencyGroup> groups, long double threshold);

// A(N) = c + N p, from two test sizes: A ÷ N is c ÷ N too great.
struct FixedCost {
    long double slope = 0;  // p
    long double cost = 0;   // c
};
[[nodiscard]] std::optional<FixedCost> fixed_cost(const LatencyGroup& smaller, const LatencyGroup& larger);

// Whether the groups contradict 3.2: σ_P² estimated from each, s_A² ÷ N, should be one number. The p value of the
// greatest against the least of them (F test, two-sided), times the number of pairs. Nothing for fewer than two groups
// with a variance.
[[nodiscard]] std::optional<long double> unequal_variances(std::span<const LatencyGroup> groups);

}  // namespace perfleet
