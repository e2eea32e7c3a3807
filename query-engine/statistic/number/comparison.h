// Whether two samples differ, by how much, and how sure that is.
//
// Pure functions. Samples are independent; nothing is assumed of their distributions but what a line says.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "query-engine/statistic/number/interval.h"
#include "storage/number/moments.h"

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

// A mean and how well it is known.
struct MeanEstimate {
    long double mean = 0;
    long double variance = 0;  // of the mean, not of the values
    long double degrees = 0;   // of freedom, of that variance
};
// Of independent values: s² ÷ n, n − 1. Nothing for fewer than two.
[[nodiscard]] std::optional<MeanEstimate> mean_estimate(const Moments& moments);

// Welch's interval for mean(second) − mean(first), variances not assumed equal.
[[nodiscard]] Interval difference_interval(const MeanEstimate& first, const MeanEstimate& second,
                                           long double confidence);
// Nothing for fewer than two values.
[[nodiscard]] std::optional<Interval> difference_interval(const Moments& first, const Moments& second,
                                                          long double confidence);

// Fieller's interval for mean(second) ÷ mean(first), with Welch's degrees of freedom. Nothing where the first mean
// isn't clearly above 0: there the ratio has no bounds.
[[nodiscard]] std::optional<Interval> ratio_interval(const MeanEstimate& first, const MeanEstimate& second,
                                                     long double confidence);
[[nodiscard]] std::optional<Interval> ratio_interval(const Moments& first, const Moments& second,
                                                     long double confidence);

// From intervals of two independent estimates to one of second − first (MOVER: Zou and Donner, 2008).
[[nodiscard]] Interval difference_of(long double first, const Interval& first_interval, long double second,
                                     const Interval& second_interval);

// The same for second ÷ first, of estimates that aren't negative (Donner and Zou, 2012): it holds 1 where
// difference_of() holds 0. Nothing where the first may be 0: there the ratio has no bounds.
[[nodiscard]] std::optional<Interval> ratio_of(long double first, const Interval& first_interval, long double second,
                                               const Interval& second_interval);

// How far one estimate lies from another: second − first and second ÷ first. Absent where there is no interval.
struct Contrast {
    std::optional<Interval> difference;
    std::optional<Interval> ratio;
};

// The two-sided p value that belongs to intervals: 1 − the greatest confidence at which they don't hold `value`, found
// by bisection to four digits. Where there is no interval, it holds everything. Intervals widen with confidence.
using IntervalAt = std::function<std::optional<Interval>(long double confidence)>;
inline constexpr long double kPValueMin = 1e-15L;  // what lies below is given as this
[[nodiscard]] long double p_value_from(const IntervalAt& interval_at, long double value);

// The smallest change that would be shown with 80 % chance, by intervals of this half-width and confidence:
// half_width × (1 + z(0.8) ÷ z).
[[nodiscard]] long double detectable_change(long double half_width, long double confidence);

// Cohen's d: difference of the means in pooled standard deviations.
[[nodiscard]] std::optional<long double> cohens_d(const Moments& first, const Moments& second);

// Holm's correction: p values as they count among so many comparisons, in the order given.
[[nodiscard]] std::vector<long double> holm_corrected(std::span<const long double> p_values);

// The same, exactly, of values that are costly to find and cheap to bound: found are those only that come to less than
// 1, and some near them.
struct CostlyPValues {
    std::size_t count = 0;
    std::function<bool(std::size_t index, long double bound)> is_below;  // 0 < bound < 1
    std::function<long double(std::size_t index)> value;
};
[[nodiscard]] std::vector<long double> holm_corrected(const CostlyPValues& p_values);

}  // namespace perfleet
