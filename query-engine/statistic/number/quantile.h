// Percentiles: their definitions and the ranks they use. rank_search.h finds the values.
//
// A quantile is a whole number of billionths, so that ranks are exact integers: 99.9 % of 1,000 is rank 999, not
// 999.0…01. Definitions (Hyndman and Fan, 1996, number them):
//   nearest rank (type 1)  the ⌈p n⌉-th smallest value (the smallest at p = 0): always a value that was measured
//   type 7                 linear between neighbours at (n − 1) p: the default of R, NumPy and Excel
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace perfleet {

struct Quantile {
    static constexpr std::uint64_t kWhole = 1'000'000'000;
    std::uint64_t billionths = 0;  // at most kWhole

    [[nodiscard]] static constexpr Quantile of_percent(std::uint64_t percent) { return {percent * (kWhole / 100)}; }
    [[nodiscard]] long double fraction() const { return static_cast<long double>(billionths) / kWhole; }

    friend constexpr auto operator<=>(const Quantile&, const Quantile&) = default;
};

inline constexpr Quantile kMedian = Quantile::of_percent(50);

// "50", "99.9", from 0 to 100 with at most seven decimals. Nothing when the text is something else.
[[nodiscard]] std::optional<Quantile> parse_percentile(std::string_view text);

// "p50", "p99.9".
[[nodiscard]] std::string percentile_name(Quantile quantile);

// Index from 0 into `count` ascending values; count > 0.
[[nodiscard]] std::uint64_t nearest_rank(Quantile quantile, std::uint64_t count);

// Type 7: the value at `index` plus `billionths` of the distance to the next one; if that isn't 0 there is a next one.
struct RankBetween {
    std::uint64_t index = 0;
    std::uint64_t billionths = 0;

    [[nodiscard]] std::uint64_t next() const { return index + (billionths == 0 ? 0 : 1); }
    [[nodiscard]] long double between(std::uint64_t value, std::uint64_t next_value) const {
        return static_cast<long double>(value) +
               static_cast<long double>(next_value - value) * static_cast<long double>(billionths) / Quantile::kWhole;
    }
};
[[nodiscard]] RankBetween rank_between(Quantile quantile, std::uint64_t count);

// Ranks between which the true quantile lies with at least this confidence, for any distribution. The coverage of
// (X_low, X_high) is P(low < B ≤ high), B binomial (n, p), indices from 0. It is the narrowest interval with equal
// tails, narrowed by one more rank if the confidence allows it. If the tail beyond the highest (lowest) value exceeds
// half of the error, that value is the end, and the other end uses the rest of the error. Nothing if even the lowest
// and highest value don't reach the confidence.
struct RankInterval {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    long double coverage = 0;
};
[[nodiscard]] std::optional<RankInterval> rank_interval(Quantile quantile, std::uint64_t count, long double confidence);

// The fewest values that give an interval of this percentile (not the minimum or maximum); 0 if unknown.
[[nodiscard]] std::uint64_t values_needed(Quantile quantile, long double confidence);

}  // namespace perfleet
