// Two shares compared that were counted in samples: how much of the time a function took before, and after.
//
// Pure functions. Samples that stand near each other in time are alike: hits are told by slice of time (or by run), and
// intervals say how slices differ.
#pragma once

#include <cstdint>

#include "query-engine/statistic/number/cluster.h"
#include "query-engine/statistic/number/comparison.h"

namespace perfleet {

// Functions with fewer samples on both sides together can't show a difference and would only dilute the others.
inline constexpr std::uint64_t kComparedSamplesMin = 10;

// Of share(after) against share(before): Clopper and Pearson's intervals of as many independent samples as these are
// worth, made one of their difference and their ratio. Nothing where a side has no two slices with samples.
[[nodiscard]] Contrast share_contrast(const ClusteredShare& before, const ClusteredShare& after,
                                      long double confidence);
// Whether share_contrast() has any, whatever the confidence.
[[nodiscard]] bool has_share_contrast(const ClusteredShare& before, const ClusteredShare& after);

// Two-sided, of share(after) − share(before) = `difference`: p_value_from() the intervals of the difference, six
// digits, in a fifth of its steps.
[[nodiscard]] long double share_p_value(const ClusteredShare& before, const ClusteredShare& after,
                                        long double difference = 0);
// Whether that is below `bound` (kPValueMin < bound < 1): one step.
[[nodiscard]] bool share_p_value_is_below(const ClusteredShare& before, const ClusteredShare& after, long double bound);

}  // namespace perfleet
