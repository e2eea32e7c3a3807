// Checks behind validity warnings: order in values that should be independent, several modes, outliers, a coarse timer.
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
    long double shift = 0;           // of the median, as a fraction of the median of all

    // Whether it matters: the chance lies outside 45 to 55 %, and the shift is above 1 %.
    [[nodiscard]] bool is_effect() const;
};
[[nodiscard]] std::optional<Drift> drift_of(std::span<const std::uint64_t> in_order);
// The same for values that follow one above the median against the others: how much the order of values matters.
[[nodiscard]] std::optional<Drift> order_effect(std::span<const std::uint64_t> in_order);

// Modes of a kernel density estimate, ascending: Gaussian kernel, Silverman's bandwidth but at least a step of the
// clock: the values' own, or the one on which nearly all lie. A mode holds at least 5 % of the values, and the valley
// between two is below 3/4 of the lower one. Values beyond 3 interquartile ranges are left out. Ascending values.
[[nodiscard]] std::vector<long double> modes_of(std::span<const std::uint64_t> ascending);

// The step of which all differences from the least value are multiples: the timer's resolution as seen in the values. 0
// if all are equal.
[[nodiscard]] std::uint64_t step_of(std::span<const std::uint64_t> values);

// Whether the timer is too coarse: the values lie on so few of its steps that their spread, or the values themselves,
// hardly exceed its resolution.
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
