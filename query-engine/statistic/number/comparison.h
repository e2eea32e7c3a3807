// Whether two samples differ, by how much, and how sure that is.
//
// Pure functions. Samples are independent; nothing is assumed of their distributions but what a line says.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "query-engine/statistic/number/interval.h"
#include "query-engine/statistic/number/moments.h"

namespace perfleet {

// Mann and Whitney's test (two-sided). Exact where both samples have at most 50 values and none is tied; otherwise by
// the normal approximation, corrected for ties and continuity.
struct RankTest {
    long double u = 0;  // pairs in which the second sample's value is greater; half a pair for ties
    long double p_value = 1;
    long double superiority = 0;  // u ÷ pairs: P(second > first) + P(equal) ÷ 2 (Vargha and Delaney's A); 0.5: none
    bool is_exact = false;
};
// Both have values. Ascending samples.
[[nodiscard]] RankTest rank_test(std::span<const std::uint64_t> first_ascending,
                                 std::span<const std::uint64_t> second_ascending);

// Welch's interval for mean(second) − mean(first), variances not assumed equal. Nothing for fewer than two values.
[[nodiscard]] std::optional<Interval> difference_interval(const Moments& first, const Moments& second,
                                                          long double confidence);

// Fieller's interval for mean(second) ÷ mean(first), with Welch's degrees of freedom. Nothing where the first mean
// isn't clearly above 0: there the ratio has no bounds.
[[nodiscard]] std::optional<Interval> ratio_interval(const Moments& first, const Moments& second,
                                                     long double confidence);

// From intervals of two independent estimates to one of second − first (MOVER: Zou and Donner, 2008).
[[nodiscard]] Interval difference_of(long double first, const Interval& first_interval, long double second,
                                     const Interval& second_interval);

// The smallest change of the mean, as a fraction of the first one, that samples like these would show with 80 % chance
// at this confidence.
[[nodiscard]] std::optional<long double> detectable_change(const Moments& first, const Moments& second,
                                                           long double confidence);

// Cohen's d: difference of the means in pooled standard deviations.
[[nodiscard]] std::optional<long double> cohens_d(const Moments& first, const Moments& second);

// Holm's correction: p values as they count among so many comparisons, in the order given.
[[nodiscard]] std::vector<long double> holm_corrected(std::span<const long double> p_values);

}  // namespace perfleet
