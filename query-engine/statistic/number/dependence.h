// Dependence factors: how much less information about a mean or a share a series of autocorrelated values has than
// independent values.
//
// Pure functions. A dependence factor is the variance of the mean of such values ÷ that of as many independent ones
// (the integral of the autocorrelation: 1 + 2 Σ ρ), never less than 1: count ÷ factor is the effective sample size. It
// is the spectral density at frequency 0 of an autoregressive process that is fitted to the values by Yule and Walker's
// equations. The order is chosen by Akaike's criterion among those up to 10 log10 n. Heidelberger and Welch (1981)
// estimate the same density from the periodogram. Its weights' sum is corrected for the bias of few values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace perfleet {

// Fewer values give the factor 1.
inline constexpr std::size_t kDependenceValuesMin = 20;
// At most this many values, the first ones, are used.
inline constexpr std::size_t kDependenceValuesMax = 1U << 17;

[[nodiscard]] long double dependence_factor(std::vector<double> in_order);

// The factor of the mean of these values.
[[nodiscard]] long double dependence_of_mean(std::span<const std::uint64_t> in_order);
// The factor of the share of values up to `limit`, for the interval of a percentile.
[[nodiscard]] long double dependence_of_share(std::span<const std::uint64_t> in_order, std::uint64_t limit);

// Nothing if these values are enough for intervals of percentiles. Otherwise how many would be. Values with an
// autocorrelation of 0.5 or more at lag 1, fewer than 40 (1 + ρ) ÷ (1 − ρ), are too few to estimate their own
// dependence (Coverage.OfValuesThatDependOnEachOther).
[[nodiscard]] std::optional<std::uint64_t> values_needed_for_percentiles(std::span<const std::uint64_t> in_order);

}  // namespace perfleet
