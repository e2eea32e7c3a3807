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

// Values to measure for a mean that is known to ± `fraction` of itself: ⌈(s × factor ÷ (mean × fraction))²⌉, and the
// figure before it was rounded up. Nothing where no mean or no variance is known, or where it doesn't fit 64 bits.
struct SampleSize {
    long double exact = 0;
    std::uint64_t needed = 0;
};
[[nodiscard]] std::optional<SampleSize> sample_size_for(const Moments& moments, long double factor,
                                                        long double fraction);

}  // namespace perfleet
