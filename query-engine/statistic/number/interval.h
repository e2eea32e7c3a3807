// Confidence intervals of a mean, and the sample size for a wanted precision.
//
// Pure functions. Confidence is a fraction in (0, 1).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "storage/number/moments.h"

namespace perfleet {

struct Interval {
    long double low = 0;
    long double high = 0;
};

// The distribution for the mean's interval: the normal one (for large samples, or to follow a paper) or Student's with
// n − 1 degrees of freedom.
enum class MeanBasis : std::uint8_t { kNormal, kStudent };

// The multiple of the standard error: 1.644854 for 90 % of a normal distribution.
[[nodiscard]] long double interval_factor(MeanBasis basis, long double count, long double confidence);

// mean ± factor × s ÷ √n. Nothing for fewer than two values. `dependence` (dependence.h) reduces n and the degrees of
// freedom.
[[nodiscard]] std::optional<Interval> mean_interval(const Moments& moments, MeanBasis basis, long double confidence,
                                                    long double dependence = 1);

// The same for skewed values: Student's interval with its ends moved by the inverse of Hall's cubic transformation
// (Hall, 1992), so that it reaches further towards the long tail. With 0 skewness (third central moment ÷ the 3/2th
// power of the second) it equals mean_interval().
[[nodiscard]] std::optional<Interval> skewed_mean_interval(const Moments& moments, long double skewness,
                                                           long double confidence, long double dependence = 1);

// Skewness of the values, with divisor n; 0 if all are equal.
[[nodiscard]] long double skewness_of(std::span<const std::uint64_t> values);

// Number of values needed to know the mean to ± `fraction` of itself: ⌈(s × factor ÷ (mean × fraction))²⌉, and the
// figure before rounding. Nothing if mean or variance is unknown, or the number exceeds 64 bits.
struct SampleSize {
    long double exact = 0;
    std::uint64_t needed = 0;
};
[[nodiscard]] std::optional<SampleSize> sample_size_for(const Moments& moments, long double factor,
                                                        long double fraction);

}  // namespace perfleet
