// Compares two shares that were counted in samples: a function's part of the time before and after.
//
// Pure functions. Samples close in time are alike, so hits are counted by slice of time (or by run), and intervals
// follow the variation between slices.
#pragma once

#include <cstdint>

#include "query-engine/statistic/number/cluster.h"
#include "query-engine/statistic/number/comparison.h"

namespace perfleet {

// Functions with fewer samples on both sides together are left out: they can't show a difference and would weaken the
// others.
inline constexpr std::uint64_t kComparedSamplesMin = 10;

// Intervals of difference and ratio of the two shares, from Clopper and Pearson's intervals at the effective sample
// sizes. Nothing if a side has fewer than two slices with samples.
[[nodiscard]] Contrast share_contrast(const ClusteredShare& before, const ClusteredShare& after,
                                      long double confidence);
// Whether share_contrast() has intervals, at any confidence.
[[nodiscard]] bool has_share_contrast(const ClusteredShare& before, const ClusteredShare& after);

// Two-sided p value of share(after) − share(before) = `difference`: equals p_value_from() the difference's intervals,
// to six digits, in a fifth of the steps.
[[nodiscard]] long double share_p_value(const ClusteredShare& before, const ClusteredShare& after,
                                        long double difference = 0);
// Whether share_p_value() is below `bound` (kPValueMin < bound < 1), in one step.
[[nodiscard]] bool share_p_value_is_below(const ClusteredShare& before, const ClusteredShare& after, long double bound);

}  // namespace perfleet
