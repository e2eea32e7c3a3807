// By how much one sample lies above another, from all pairs of their values: as a chance and as a distance. What stands
// beside Mann and Whitney's test.
//
// Pure functions. A sample is given in runs, each ascending and with at least one value; runs are independent of each
// other, and where `runs_are_alike` values of one run are, too.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "query-engine/statistic/number/interval.h"

namespace perfleet {

using ValueRuns = std::vector<std::vector<std::uint64_t>>;

// All values of the runs, ascending.
[[nodiscard]] std::vector<std::uint64_t> pooled_values(const ValueRuns& runs);

// P(second > first) + P(equal) ÷ 2 over all pairs.
struct Superiority {
    long double chance = 0.5L;
    long double variance = 0;     // of `chance`
    long double degrees = 0;      // of freedom; infinitely many are 0
    std::uint64_t pairs_min = 0;  // of the side with fewer independent parts, how many there are
};

// Variance from the placements of each side's values, or of its runs' sums of them, among the other's (Brunner and
// Munzel, 2000; by runs: Obuchowski, 1997). Nothing where a side has fewer than two independent parts, or all pairs are
// alike and a side has fewer than six: so few agree by chance. Values whose placements depend on each other (by those
// factors: dependence.h) count for so many less.
[[nodiscard]] std::optional<Superiority> superiority_of(const ValueRuns& first, const ValueRuns& second,
                                                        bool runs_are_alike, long double first_dependence = 1,
                                                        long double second_dependence = 1);
// chance ± t × its deviation, within 0 and 1. Where all pairs go one way there is no deviation: then as many successes
// without a failure as the lesser side has independent parts (Clopper and Pearson).
[[nodiscard]] Interval superiority_interval(const Superiority& superiority, long double confidence);
// Two-sided, of a chance of 1/2 (Brunner and Munzel's test).
[[nodiscard]] long double superiority_p_value(const Superiority& superiority);

// Hodges and Lehmann's shift: the median of second − first over all pairs.
[[nodiscard]] long double shift_of(std::span<const std::uint64_t> first_ascending,
                                   std::span<const std::uint64_t> second_ascending);

// The differences of pairs between which the shift lies, whatever the distribution (Moses): the ranks are those where
// Mann and Whitney's statistic ends at this confidence, by its normal approximation without ties or, where
// `superiority` is given, by its variance. Nothing where the samples are too small.
[[nodiscard]] std::optional<Interval> shift_interval(std::span<const std::uint64_t> first_ascending,
                                                     std::span<const std::uint64_t> second_ascending,
                                                     const Superiority* superiority, long double confidence);

}  // namespace perfleet
