// Confidence intervals of a mean, and of what has no formula.
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

// Which distribution stands behind the mean's interval: the normal one (large samples, or as a paper has it) or
// Student's with n − 1 degrees of freedom.
enum class MeanBasis : std::uint8_t { kNormal, kStudent };

// The factor that the standard error is multiplied by: 1.644854 for 90 % of a normal distribution.
[[nodiscard]] long double interval_factor(MeanBasis basis, long double count, long double confidence);

// mean ± factor × s ÷ √n. Nothing for fewer than two values. Values that depend on each other (dependence.h) count for
// so many less, in n and in the degrees of freedom.
[[nodiscard]] std::optional<Interval> mean_interval(const Moments& moments, MeanBasis basis, long double confidence,
                                                    long double dependence = 1);

// The same of values that are skewed: the interval by Student's t, its ends moved by the inverse of Hall's cubic
// transformation (Hall, 1992), so that it reaches further to the side of the long tail. Of 0 skewness (third central
// moment ÷ the 3/2th power of the second) it is mean_interval().
[[nodiscard]] std::optional<Interval> skewed_mean_interval(const Moments& moments, long double skewness,
                                                           long double confidence, long double dependence = 1);

// Of the values, by n; 0 where all are the same.
[[nodiscard]] long double skewness_of(std::span<const std::uint64_t> values);

// Values to measure for a mean that is known to ± `fraction` of itself: ⌈(s × factor ÷ (mean × fraction))²⌉, and the
// figure before it was rounded up. Nothing where no mean or no variance is known, or where it doesn't fit 64 bits.
struct SampleSize {
    long double exact = 0;
    std::uint64_t needed = 0;
};
[[nodiscard]] std::optional<SampleSize> sample_size_for(const Moments& moments, long double factor,
                                                        long double fraction);

}  // namespace perfleet
