// Compares two samples: size of the difference, its interval and its p value.
//
// Pure functions. Samples are independent; no distribution is assumed except where a comment says so.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "query-engine/statistic/number/interval.h"
#include "storage/number/moments.h"

namespace perfleet {

// Mann and Whitney's test (two-sided). Exact where both samples have at most 50 values and none is tied, or at most 25;
// otherwise by the normal approximation, corrected for ties and continuity.
struct RankTest {
    long double u = 0;  // pairs in which the second sample's value is greater; half a pair for ties
    long double p_value = 1;
    long double superiority = 0;  // u ÷ pairs: P(second > first) + P(equal) ÷ 2 (Vargha and Delaney's A); 0.5: none
    bool is_exact = false;
};
// Both have values. Ascending samples.
[[nodiscard]] RankTest rank_test(std::span<const std::uint64_t> first_ascending,
                                 std::span<const std::uint64_t> second_ascending);

// The interval of a shift for this confidence ends at the differences of pairs with this rank, from 0, from below and
// from above. It is the greatest rank for which Mann and Whitney's test of untied values rejects no shift within (exact
// for at most 50 values a side). Nothing if the samples are too small.
[[nodiscard]] std::optional<std::uint64_t> rank_bound(std::size_t first_count, std::size_t second_count,
                                                      long double confidence);

// At least this many equal values on a side support that the next one is equal, too (2 × 0.5^6 < 5 %).
inline constexpr std::uint64_t kAlikeMin = 6;

// Two means, their variances, and their difference.
struct MeanContrast {
    long double first = 0;
    long double second = 0;
    long double difference = 0;      // second − first, exact where both are rounded
    long double first_variance = 0;  // of the mean, not of the values
    long double second_variance = 0;
    long double covariance = 0;
    long double degrees = 0;    // of freedom, of the difference's variance
    long double reach_min = 0;  // least half-width of intervals: the clock's resolution
};
// Welch and Satterthwaite's degrees of freedom of the sum of two variances.
[[nodiscard]] long double welch_degrees(long double first_variance, long double first_degrees,
                                        long double second_variance, long double second_degrees);
// For independent values, or values with these dependence factors (dependence.h): s² ÷ n, and Welch's degrees of
// freedom. Nothing for fewer than two values on a side, or fewer than kAlikeMin that are all equal.
[[nodiscard]] std::optional<MeanContrast> mean_contrast(const Moments& first, const Moments& second,
                                                        long double first_dependence = 1,
                                                        long double second_dependence = 1);

// For second − first: Welch's interval, variances not assumed equal.
[[nodiscard]] Interval difference_interval(const MeanContrast& means, long double confidence);
// Of second ÷ first: Fieller's interval. Nothing if the first mean isn't clearly above 0: then the ratio is unbounded.
[[nodiscard]] std::optional<Interval> ratio_interval(const MeanContrast& means, long double confidence);
// Two-sided, of second ÷ first = `ratio`: 1 − the greatest confidence at which the interval doesn't hold it.
[[nodiscard]] long double mean_p_value(const MeanContrast& means, long double ratio = 1);

// Widens an interval to the clock's resolution, for second − first and second ÷ first.
[[nodiscard]] Interval widened_difference(const Interval& interval, long double difference, long double reach_min);
[[nodiscard]] Interval widened_ratio(const Interval& interval, long double first, long double second,
                                     long double reach_min);

// The interval of second − first from intervals of two independent estimates (MOVER: Zou and Donner, 2008).
[[nodiscard]] Interval difference_of(long double first, const Interval& first_interval, long double second,
                                     const Interval& second_interval);

// The same for second ÷ first, of estimates that aren't negative (Donner and Zou, 2012): it contains 1 when
// difference_of() contains 0. Nothing if the first may be 0: then the ratio is unbounded.
[[nodiscard]] std::optional<Interval> ratio_of(long double first, const Interval& first_interval, long double second,
                                               const Interval& second_interval);

// Intervals of second − first and second ÷ first; absent if there is no interval.
struct Contrast {
    std::optional<Interval> difference;
    std::optional<Interval> ratio;
};

// The two-sided p value of a family of intervals: 1 − the greatest confidence at which they exclude `value`, found by
// bisection to four digits. A missing interval contains every value. Intervals widen with confidence.
using IntervalAt = std::function<std::optional<Interval>(long double confidence)>;
inline constexpr long double kPValueMin = 1e-15L;  // smaller p values are given as this
[[nodiscard]] long double p_value_from(const IntervalAt& interval_at, long double value);

// The smallest change detected with 80 % power, by intervals of this half-width and confidence:
// half_width × (1 + z(0.8) ÷ z).
[[nodiscard]] long double detectable_change(long double half_width, long double confidence);

// Cohen's d: difference of the means in pooled standard deviations.
[[nodiscard]] std::optional<long double> cohens_d(const Moments& first, const Moments& second);

}  // namespace perfleet
