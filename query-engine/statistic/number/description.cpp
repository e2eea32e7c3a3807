#include "query-engine/statistic/number/description.h"

#include <algorithm>

#include "query-engine/statistic/number/cluster.h"
#include "query-engine/statistic/number/dependence.h"
#include "query-engine/statistic/number/rank_search.h"

namespace perfleet {
namespace {

// Distances from `doubled_centre` ÷ 2, in halves so that they are integers; in whole units if the range is too wide for
// halves.
class Distances {
public:
    Distances(const Moments& moments, Uint128 doubled_centre)
        : doubled_centre_{doubled_centre}, is_halves_{moments.max() - moments.min() < 1ULL << 62} {}

    [[nodiscard]] std::uint64_t of(std::uint64_t value) const {
        const Uint128 doubled = Uint128{value} * 2;
        const Uint128 distance = doubled > doubled_centre_ ? doubled - doubled_centre_ : doubled_centre_ - doubled;
        return static_cast<std::uint64_t>(is_halves_ ? distance : distance / 2);
    }
    [[nodiscard]] long double real(long double distance) const { return is_halves_ ? distance / 2 : distance; }

private:
    Uint128 doubled_centre_;
    bool is_halves_;
};

Result<long double> median_distance(const ValuePieces& pieces, const Moments& moments, const Distances& distances) {
    const ValuePieces distance_pieces = [&](const auto& visitor) {
        std::vector<std::uint64_t> buffer;
        return pieces([&](std::span<const std::uint64_t> values) {
            buffer.resize(values.size());
            std::transform(values.begin(), values.end(), buffer.begin(),
                           [&](std::uint64_t value) { return distances.of(value); });
            visitor(std::span<const std::uint64_t>{buffer});
        });
    };
    Moments bounds;
    bounds.add(0);
    bounds.add(std::max(distances.of(moments.min()), distances.of(moments.max())));
    const RankBetween middle = rank_between(kMedian, moments.count());
    const std::vector<std::uint64_t> ranks{middle.index, middle.next()};
    const auto found = PERFLEET_TRY(find_ranks(distance_pieces, bounds, ranks));
    return distances.real(middle.between(found[0], found[1]));
}

}  // namespace

ValuePieces pieces_of(std::span<const std::uint64_t> values) {
    return [values](const auto& visitor) -> Result<Done> {
        // A piece stays in the cache between its uses.
        constexpr std::size_t kPieceValues = 16'384;
        for (std::size_t start = 0; start < values.size(); start += kPieceValues) {
            visitor(values.subspan(start, std::min(kPieceValues, values.size() - start)));
        }
        return Done{};
    };
}

Result<std::vector<std::uint64_t>> find_ranks(const ValuePieces& pieces, const Moments& moments,
                                              std::span<const std::uint64_t> ranks) {
    RankSearch search{moments.min(), moments.max(), ranks};
    while (!search.is_done()) {
        PERFLEET_TRY(pieces([&](std::span<const std::uint64_t> values) { search.count(values); }));
        search.narrow();
    }
    std::vector<std::uint64_t> found;
    for (const std::uint64_t rank : ranks) {
        found.push_back(search.value(rank));
    }
    return found;
}

Result<Description> describe(const ValuePieces& pieces, std::span<const Quantile> percentiles, long double confidence,
                             std::span<const std::uint64_t> in_order) {
    Description description;
    Moments& moments = description.moments;
    PERFLEET_TRY(pieces([&](std::span<const std::uint64_t> values) { moments.add(values); }));
    if (moments.count() == 0) {
        return description;
    }
    const RankBetween middle = rank_between(kMedian, moments.count());
    std::vector<std::uint64_t> ranks{middle.index, middle.next()};
    description.dependence = dependence_of_mean(in_order);
    description.skewness = skewness_of(in_order);
    const bool is_too_dependent = values_needed_for_percentiles(in_order).has_value();
    std::vector<std::uint64_t> sample{in_order.begin(), in_order.end()};
    std::sort(sample.begin(), sample.end());
    for (const Quantile quantile : percentiles) {
        DescribedPercentile& percentile = description.percentiles.emplace_back();
        percentile.quantile = quantile;
        const long double dependence =
            sample.empty() ? 1 : dependence_of_share(in_order, sample[nearest_rank(quantile, sample.size())]);
        if (!is_too_dependent) {
            percentile.ranks = rank_interval(quantile, moments.count(),
                                             static_cast<long double>(moments.count()) / dependence, confidence);
        }
        const RankBetween between = rank_between(quantile, moments.count());
        ranks.insert(ranks.end(),
                     {nearest_rank(quantile, moments.count()), between.index, between.next(),
                      percentile.ranks ? percentile.ranks->low : 0, percentile.ranks ? percentile.ranks->high : 0});
    }
    const auto found = PERFLEET_TRY(find_ranks(pieces, moments, ranks));
    description.median = middle.between(found[0], found[1]);
    auto value = found.begin() + 2;
    for (DescribedPercentile& percentile : description.percentiles) {
        percentile.nearest = value[0];
        percentile.between = rank_between(percentile.quantile, moments.count()).between(value[1], value[2]);
        percentile.low = value[3];
        percentile.high = value[4];
        value += 5;
    }
    const Uint128 doubled_median = middle.billionths == 0 ? Uint128{found[0]} * 2 : Uint128{found[0]} + found[1];
    description.deviation = PERFLEET_TRY(median_distance(pieces, moments, Distances{moments, doubled_median}));
    return description;
}

}  // namespace perfleet
