#include "query-engine/statistic/number/quantile.h"

#include <algorithm>
#include <cmath>

#include "query-engine/statistic/number/distribution.h"
#include "schemas/vocabulary/assert.h"
#include "storage/number/wide_integer.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kPercent = Quantile::kWhole / 100;

}  // namespace

std::optional<Quantile> parse_percentile(std::string_view text) {
    std::uint64_t value = 0;
    std::uint64_t unit = kPercent;
    bool has_digit = false;
    bool is_fraction = false;
    for (const char c : text) {
        if (c == '.' && !is_fraction && has_digit) {
            is_fraction = true;
            has_digit = false;
            continue;
        }
        if (c < '0' || c > '9' || value > Quantile::kWhole) {
            return std::nullopt;
        }
        const auto digit = static_cast<std::uint64_t>(c - '0');
        has_digit = true;
        if (!is_fraction) {
            value = value * 10 + digit * kPercent;
        } else {
            unit /= 10;
            if (unit == 0) {
                return std::nullopt;
            }
            value += digit * unit;
        }
    }
    return has_digit && value <= Quantile::kWhole ? std::optional{Quantile{value}} : std::nullopt;
}

std::string percentile_name(Quantile quantile) {
    std::string fraction = std::to_string(quantile.billionths % kPercent);
    fraction.insert(0, 7 - fraction.size(), '0');
    fraction.erase(fraction.find_last_not_of('0') + 1);
    return "p" + std::to_string(quantile.billionths / kPercent) + (fraction.empty() ? "" : "." + fraction);
}

std::uint64_t nearest_rank(Quantile quantile, std::uint64_t count) {
    PERFLEET_ASSERT(count > 0 && quantile.billionths <= Quantile::kWhole);
    const Uint128 product = Uint128{quantile.billionths} * count;
    const auto rank = static_cast<std::uint64_t>((product + Quantile::kWhole - 1) / Quantile::kWhole);
    return rank == 0 ? 0 : rank - 1;
}

RankBetween rank_between(Quantile quantile, std::uint64_t count) {
    PERFLEET_ASSERT(count > 0 && quantile.billionths <= Quantile::kWhole);
    const Uint128 product = Uint128{quantile.billionths} * (count - 1);
    return {static_cast<std::uint64_t>(product / Quantile::kWhole),
            static_cast<std::uint64_t>(product % Quantile::kWhole)};
}

std::optional<RankInterval> rank_interval(Quantile quantile, std::uint64_t count, long double confidence) {
    PERFLEET_ASSERT(confidence > 0 && confidence < 1);
    const long double p = quantile.fraction();
    if (count == 0 || p <= 0 || p >= 1) {
        return std::nullopt;
    }
    const long double tail = (1 - confidence) / 2;
    const auto below = [&](std::uint64_t k) { return binomial_probability(k, count, p); };
    // P(B ≤ low) is the chance that the quantile lies below X_low (from 0); P(B > high) that it lies above X_high.
    if (below(count - 1) - below(0) < confidence) {
        return std::nullopt;
    }
    const bool is_high_end = below(count - 1) < 1 - tail;
    const bool is_low_end = below(0) > tail;
    const long double low_tail = is_high_end ? below(count - 1) - confidence : tail;
    const long double high_tail = is_low_end ? 1 - confidence - below(0) : tail;
    std::uint64_t first = 0;
    std::uint64_t last = count - 1;
    while (!is_low_end && first < last) {  // the greatest low with P(B ≤ low) ≤ its tail
        const std::uint64_t middle = last - (last - first) / 2;
        if (below(middle) <= low_tail) {
            first = middle;
        } else {
            last = middle - 1;
        }
    }
    RankInterval interval;
    interval.low = first;
    last = count - 1;
    first = is_high_end ? last : first;
    while (first < last) {  // the least high with P(B ≤ high) ≥ 1 − its tail
        const std::uint64_t middle = first + (last - first) / 2;
        if (below(middle) >= 1 - high_tail) {
            last = middle;
        } else {
            first = middle + 1;
        }
    }
    interval.high = first;
    interval.coverage = below(interval.high) - below(interval.low);
    if (interval.high - interval.low > 1) {
        const long double without_high = below(interval.high - 1) - below(interval.low);
        const long double without_low = below(interval.high) - below(interval.low + 1);
        const bool drops_high = without_high >= confidence && (without_low < confidence || without_high <= without_low);
        if (drops_high) {
            --interval.high;
            interval.coverage = without_high;
        } else if (without_low >= confidence) {
            ++interval.low;
            interval.coverage = without_low;
        }
    }
    return interval;
}

std::uint64_t values_needed(Quantile quantile, long double confidence) {
    // The interval misses with P(all below) + P(all above): the larger alone gives the first guess, the other adds few.
    constexpr unsigned kGuessesMax = 64;
    const long double p = std::max(quantile.fraction(), 1 - quantile.fraction());
    const auto guess = static_cast<std::uint64_t>(std::max(1.0L, std::log(1 - confidence) / std::log(p)));
    for (std::uint64_t count = guess; count < guess + kGuessesMax; ++count) {
        if (rank_interval(quantile, count, confidence)) {
            return count;
        }
    }
    return 0;
}

}  // namespace perfleet
