// Reasons to doubt figures: order in what should be independent, several modes, outliers.
//
// Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace perfleet {

// Autocorrelation at lag 1 of values in the order in which they were measured. Nothing where all are the same, or
// there are fewer than three.
[[nodiscard]] std::optional<long double> lag_one_correlation(std::span<const std::uint64_t> in_order);

// Wald and Wolfowitz's runs test about the median (values equal to it left out): two-sided p value of the number of
// runs by its normal approximation. Nothing where fewer than ten values lie on either side.
[[nodiscard]] std::optional<long double> runs_test(std::span<const std::uint64_t> in_order);

// Whether later values are greater than earlier ones: Mann and Whitney's test of the second half against the first.
struct Drift {
    long double p_value = 1;
    long double superiority = 0.5L;  // chance that a value of the second half is greater than one of the first
};
[[nodiscard]] std::optional<Drift> drift_of(std::span<const std::uint64_t> in_order);

// Where a kernel density estimate has its modes, ascending: Gaussian kernel, Silverman's bandwidth but never less than
// the values' own step; peaks that hold at least 5 % of the values and are parted by a valley below 3/4 of the lower
// one. Values beyond 3 interquartile ranges are left out. Ascending values.
[[nodiscard]] std::vector<long double> modes_of(std::span<const std::uint64_t> ascending);

// The step that all values are whole multiples of, from the least one on: the timer's resolution, seen from here.
// 0 where all are the same.
[[nodiscard]] std::uint64_t step_of(std::span<const std::uint64_t> values);

// Whether the timer is too coarse for these values: they lie on so few steps of it that their spread, or the values
// themselves, are hardly more than its resolution.
struct CoarseTimer {
    std::uint64_t step = 0;            // 0: all values are the same
    std::uint64_t quartile_steps = 0;  // interquartile range, in steps
    std::uint64_t median = 0;
};
[[nodiscard]] std::optional<CoarseTimer> coarse_timer(std::span<const std::uint64_t> ascending);

// Values above the third quartile by more than 3 interquartile ranges (at least 3 steps of the timer).
struct Outliers {
    std::uint64_t count = 0;
    std::uint64_t limit = 0;
};
[[nodiscard]] Outliers outliers_of(std::span<const std::uint64_t> ascending);

}  // namespace perfleet
