// Superiority and shift of one sample over another, from all pairs of their values; complements Mann and Whitney's
// test.
//
// Pure functions. A sample consists of runs, each ascending with at least one value. Runs are independent of each
// other; with `runs_are_alike` values within a run are, too.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "query-engine/statistic/number/interval.h"

namespace perfleet {

using ValueRuns = std::vector<std::vector<std::uint64_t>>;

// Values of all runs, ascending.
[[nodiscard]] std::vector<std::uint64_t> pooled_values(const ValueRuns& runs);

// P(second > first) + P(equal) ÷ 2 over all pairs.
struct Superiority {
    long double chance = 0.5L;
    long double variance = 0;     // of `chance`
    long double degrees = 0;      // of freedom; 0: infinite
    std::uint64_t pairs_min = 0;  // independent units of the side with fewer
};

// Variance from the placements of each side's values, or of its runs' sums, among the other's (Brunner and Munzel,
// 2000; by runs: Obuchowski, 1997). Nothing if a side has fewer than two independent units, or if all pairs are alike
// and a side has fewer than six, which may be chance. Dependence factors (dependence.h) of the placements reduce the
// sample sizes.
[[nodiscard]] std::optional<Superiority> superiority_of(const ValueRuns& first, const ValueRuns& second,
                                                        bool runs_are_alike, long double first_dependence = 1,
                                                        long double second_dependence = 1);
// chance ± t × its standard error, within 0 and 1. If all pairs go one way there is no standard error; then Clopper and
// Pearson's interval of only successes, as many as the smaller side has independent units.
[[nodiscard]] Interval superiority_interval(const Superiority& superiority, long double confidence);
// Two-sided p value of a chance of 1/2 (Brunner and Munzel's test).
[[nodiscard]] long double superiority_p_value(const Superiority& superiority);

// Hodges and Lehmann's shift: the median of second − first over all pairs.
[[nodiscard]] long double shift_of(std::span<const std::uint64_t> first_ascending,
                                   std::span<const std::uint64_t> second_ascending);

// The interval of the shift for any distribution (Moses): differences of pairs, at the ranks where Mann and Whitney's
// statistic reaches this confidence. Uses its normal approximation without ties or, with `superiority`, that variance.
// Nothing if the samples are too small.
[[nodiscard]] std::optional<Interval> shift_interval(std::span<const std::uint64_t> first_ascending,
                                                     std::span<const std::uint64_t> second_ascending,
                                                     const Superiority* superiority, long double confidence);

}  // namespace perfleet
