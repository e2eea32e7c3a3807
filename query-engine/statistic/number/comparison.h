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

// So many equal values on a side say that the next is likely equal, too (2 × 0.5^6 < 5 %); fewer are too few.
inline constexpr std::uint64_t kAlikeMin = 6;

// Two means and how well they and their difference are known.
struct MeanContrast {
    long double first = 0;
    long double second = 0;
    long double difference = 0;      // second − first, exact where both are rounded
    long double first_variance = 0;  // of the mean, not of the values
    long double second_variance = 0;
    long double covariance = 0;
    long double degrees = 0;    // of freedom, of the difference's variance
    long double reach_min = 0;  // no interval ends nearer to its estimate: the clock's resolution
};
// Welch and Satterthwaite's degrees of freedom of the sum of two variances.
[[nodiscard]] long double welch_degrees(long double first_variance, long double first_degrees,
                                        long double second_variance, long double second_degrees);
// Of values that are independent, or depend on each other by these factors (dependence.h): s² ÷ n, and Welch's degrees.
// Nothing for fewer than two values on a side, or fewer than kAlikeMin that are all equal.
[[nodiscard]] std::optional<MeanContrast> mean_contrast(const Moments& first, const Moments& second,
                                                        long double first_dependence = 1,
                                                        long double second_dependence = 1);

// For second − first: Welch's interval, variances not assumed equal.
[[nodiscard]] Interval difference_interval(const MeanContrast& means, long double confidence);
// For second ÷ first: Fieller's. Nothing where the first mean isn't clearly above 0: there the ratio has no bounds.
[[nodiscard]] std::optional<Interval> ratio_interval(const MeanContrast& means, long double confidence);
// Two-sided, of second ÷ first = `ratio`: 1 − the greatest confidence at which the interval doesn't hold it.
[[nodiscard]] long double mean_p_value(const MeanContrast& means, long double ratio = 1);

// As far from its estimate as the clock lets it end, for second − first and second ÷ first.
[[nodiscard]] Interval widened_difference(const Interval& interval, long double difference, long double reach_min);
[[nodiscard]] Interval widened_ratio(const Interval& interval, long double first, long double second,
                                     long double reach_min);

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

}  // namespace perfleet
