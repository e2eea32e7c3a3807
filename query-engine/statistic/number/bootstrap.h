// Intervals of any figure of a sample by the bootstrap: how the figure varies over samples that are drawn from the
// values themselves, bias-corrected and accelerated (BCa; Efron 1987).
//
// Values that depend on those before them are drawn in blocks that stand in one piece, from a ring of all values
// (circular block bootstrap). Draws come from a fixed seed: the same values give the same interval. Pure functions.
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

// Of values in ascending order, at least one.
using SampleFigure = std::function<long double(std::span<const std::uint64_t> sorted)>;

// Values that are drawn together: `dependence` is what the effective size divides the size by (dependence.h).
[[nodiscard]] std::size_t bootstrap_block(std::size_t value_count, long double dependence);

// Of each figure, in their order; empty: there are fewer than kBootstrapValuesMin values, all are equal, or all samples
// have the figure on one side. `in_order`: as they were measured, at most kBootstrapValuesMax.
[[nodiscard]] std::vector<std::optional<Interval>> bootstrap_intervals(std::span<const std::uint64_t> in_order,
                                                                       std::span<const SampleFigure> figures,
                                                                       long double confidence, std::size_t block);

}  // namespace perfleet
