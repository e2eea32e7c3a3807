#include "query-engine/statistic/number/rank_shift.h"

#include <algorithm>
#include <cmath>

#include "query-engine/statistic/number/cluster.h"
#include "query-engine/statistic/number/comparison.h"
#include "query-engine/statistic/number/distribution.h"
#include "schemas/vocabulary/assert.h"
#include "storage/number/wide_integer.h"

namespace perfleet {
namespace {

__extension__ using Int128 = __int128;

struct Placements {
    long double mean = 0;
    long double variance = 0;  // of the mean
    std::uint64_t parts = 0;   // independent of each other
};

// For each value of `runs`, the fraction of `others` below it, ties counting half: their mean and its variance.
Placements placements_of(const ValueRuns& runs, std::span<const std::uint64_t> others, bool runs_are_alike) {
    const auto other_count = static_cast<long double>(others.size());
    std::vector<std::pair<long double, long double>> parts;  // sum of fractions, number of values
    long double sum = 0;
    long double count = 0;
    for (const std::vector<std::uint64_t>& run : runs) {
        auto below = others.begin();
        parts.emplace_back(0, 0);
        for (const std::uint64_t value : run) {
            below = std::lower_bound(below, others.end(), value);
            const auto above = std::upper_bound(below, others.end(), value);
            const long double fraction =
                (static_cast<long double>(below - others.begin()) + static_cast<long double>(above - others.begin())) /
                2 / other_count;
            if (!runs_are_alike && parts.back().second > 0) {
                parts.emplace_back(0, 0);
            }
            parts.back().first += fraction;
            parts.back().second += 1;
            sum += fraction;
            count += 1;
        }
    }
    Placements placements{sum / count, 0, parts.size()};
    for (const auto& [of_part, values] : parts) {
        const long double residual = (of_part - values * placements.mean) / count;
        placements.variance += residual * residual;
    }
    const auto k = static_cast<long double>(parts.size());
    placements.variance *= k > 1 ? k / (k - 1) : 0;
    return placements;
}

Placements effective(Placements placements, long double dependence) {
    placements.variance *= dependence;
    placements.parts = static_cast<std::uint64_t>(static_cast<long double>(placements.parts) / dependence);
    return placements;
}

// How many pairs have second − first ≤ difference.
Uint128 pairs_up_to(std::span<const std::uint64_t> first, std::span<const std::uint64_t> second, Int128 difference) {
    Uint128 pairs = 0;
    std::size_t too_small = 0;  // first values below second − difference
    for (const std::uint64_t value : second) {
        while (too_small < first.size() && Int128{value} - Int128{first[too_small]} > difference) {
            ++too_small;
        }
        pairs += first.size() - too_small;
    }
    return pairs;
}

// The rank-th least difference, from 0.
Int128 difference_at(std::span<const std::uint64_t> first, std::span<const std::uint64_t> second, Uint128 rank) {
    Int128 low = Int128{second.front()} - Int128{first.back()};
    Int128 high = Int128{second.back()} - Int128{first.front()};
    while (low < high) {
        const Int128 middle = low + (high - low) / 2;
        if (pairs_up_to(first, second, middle) > rank) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

}  // namespace

std::vector<std::uint64_t> pooled_values(const ValueRuns& runs) {
    std::vector<std::uint64_t> values;
    for (const std::vector<std::uint64_t>& run : runs) {
        values.insert(values.end(), run.begin(), run.end());
    }
    std::sort(values.begin(), values.end());
    return values;
}

std::optional<Superiority> superiority_of(const ValueRuns& first, const ValueRuns& second, bool runs_are_alike,
                                          long double first_dependence, long double second_dependence) {
    const Placements of_first =
        effective(placements_of(first, pooled_values(second), runs_are_alike), first_dependence);
    const Placements of_second =
        effective(placements_of(second, pooled_values(first), runs_are_alike), second_dependence);
    Superiority superiority;
    superiority.chance = of_second.mean;
    superiority.variance = of_first.variance + of_second.variance;
    superiority.pairs_min = std::min(of_first.parts, of_second.parts);
    if (superiority.pairs_min < (superiority.variance > 0 ? 2 : kAlikeMin)) {
        return std::nullopt;
    }
    if (superiority.variance > 0) {
        superiority.degrees = welch_degrees(of_first.variance, static_cast<long double>(of_first.parts - 1),
                                            of_second.variance, static_cast<long double>(of_second.parts - 1));
    }
    return superiority;
}

Interval superiority_interval(const Superiority& superiority, long double confidence) {
    if (superiority.variance <= 0) {
        return superiority.chance > 0 && superiority.chance < 1
                   ? Interval{superiority.chance, superiority.chance}  // every value is the same
                   : share_interval(superiority.chance, static_cast<long double>(superiority.pairs_min), confidence);
    }
    const long double half_width =
        -student_quantile((1 - confidence) / 2, superiority.degrees) * std::sqrt(superiority.variance);
    return {std::max(0.0L, superiority.chance - half_width), std::min(1.0L, superiority.chance + half_width)};
}

long double superiority_p_value(const Superiority& superiority) {
    if (superiority.variance > 0) {
        const long double t = std::abs(superiority.chance - 0.5L) / std::sqrt(superiority.variance);
        return 2 * student_probability(-t, superiority.degrees);
    }
    return p_value_from([&](long double confidence) { return superiority_interval(superiority, confidence); }, 0.5L);
}

long double shift_of(std::span<const std::uint64_t> first, std::span<const std::uint64_t> second) {
    PERFLEET_ASSERT(!first.empty() && !second.empty());
    const Uint128 pairs = Uint128{first.size()} * second.size();
    const Int128 upper = difference_at(first, second, pairs / 2);
    const Int128 lower = pairs % 2 == 0 ? difference_at(first, second, pairs / 2 - 1) : upper;
    return (static_cast<long double>(lower) + static_cast<long double>(upper)) / 2;
}

std::optional<Interval> shift_interval(std::span<const std::uint64_t> first, std::span<const std::uint64_t> second,
                                       const Superiority* superiority, long double confidence) {
    const Uint128 pairs = Uint128{first.size()} * second.size();
    Uint128 low = 0;
    if (superiority != nullptr && superiority->variance > 0) {
        const long double rank =  // from 1
            std::floor(static_cast<long double>(pairs) *
                       (0.5L + student_quantile((1 - confidence) / 2, superiority->degrees) *
                                   std::sqrt(superiority->variance)));
        if (rank < 1) {
            return std::nullopt;
        }
        low = static_cast<Uint128>(rank) - 1;
    } else if (const auto bound = rank_bound(first.size(), second.size(), confidence)) {
        low = *bound;
    } else {
        return std::nullopt;
    }
    return Interval{static_cast<long double>(difference_at(first, second, low)),
                    static_cast<long double>(difference_at(first, second, pairs - 1 - low))};
}

}  // namespace perfleet
