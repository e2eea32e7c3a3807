// Describes a set of integers: moments, percentiles with their intervals, median and median deviation. Exact, in
// bounded memory: the values are read several times, never sorted or kept.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "query-engine/statistic/number/quantile.h"
#include "schemas/vocabulary/error.h"
#include "storage/number/moments.h"

namespace perfleet {

// Gives all values to the visitor, in pieces: the same values each time, in any order. Errors: the source's.
using ValuePieces = std::function<Result<Done>(const std::function<void(std::span<const std::uint64_t>)>& visitor)>;

[[nodiscard]] ValuePieces pieces_of(std::span<const std::uint64_t> values);

struct DescribedPercentile {
    Quantile quantile;
    std::uint64_t nearest = 0;          // nearest rank
    long double between = 0;            // type 7
    std::optional<RankInterval> ranks;  // none where too few values depend on each other (dependence.h)
    std::uint64_t low = 0;              // values at the ranks of the interval, if there is one
    std::uint64_t high = 0;
};

struct Description {
    Moments moments;
    long double dependence = 1;  // factor of the mean (dependence.h)
    long double skewness = 0;    // of the values in order
    long double median = 0;      // type 7: the mean of the middle two
    long double deviation = 0;   // median of |x − median| (MAD), not scaled
    std::vector<DescribedPercentile> percentiles;
};

// Only moments if there is no value. `in_order`: the first values in the order of measurement, from which intervals of
// percentiles and the mean take the dependence; empty: values count as independent.
[[nodiscard]] Result<Description> describe(const ValuePieces& pieces, std::span<const Quantile> percentiles,
                                           long double confidence, std::span<const std::uint64_t> in_order = {});

// The values at these ranks, in the order of `ranks`; moments are those of the same values.
[[nodiscard]] Result<std::vector<std::uint64_t>> find_ranks(const ValuePieces& pieces, const Moments& moments,
                                                            std::span<const std::uint64_t> ranks);

}  // namespace perfleet
