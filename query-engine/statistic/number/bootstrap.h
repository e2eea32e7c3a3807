// Bootstrap intervals of any figure of a sample: the figure is recomputed for samples drawn from the values themselves,
// bias-corrected and accelerated (BCa; Efron 1987).
//
// Dependent values are drawn in blocks of consecutive values from a ring of all values (circular block bootstrap). The
// seed is fixed: the same values give the same interval. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "query-engine/statistic/number/interval.h"

namespace perfleet {

inline constexpr std::size_t kBootstrapDraws = 2'000;
inline constexpr std::size_t kBootstrapValuesMin = 10;
inline constexpr std::size_t kBootstrapValuesMax = 1U << 14;

// A figure of values in ascending order; there is at least one value.
using SampleFigure = std::function<long double(std::span<const std::uint64_t> sorted)>;

// Block length in values. `dependence` is the factor by which the effective sample size is smaller (dependence.h).
[[nodiscard]] std::size_t bootstrap_block(std::size_t value_count, long double dependence);

// The interval of each figure, in their order. Empty if there are fewer than kBootstrapValuesMin values, all are equal,
// or the figure of every drawn sample lies on one side. `in_order`: in the order of measurement, at most
// kBootstrapValuesMax.
[[nodiscard]] std::vector<std::optional<Interval>> bootstrap_intervals(std::span<const std::uint64_t> in_order,
                                                                       std::span<const SampleFigure> figures,
                                                                       long double confidence, std::size_t block);

}  // namespace perfleet
