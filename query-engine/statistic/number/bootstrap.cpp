#include "query-engine/statistic/number/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "query-engine/statistic/number/distribution.h"
#include "query-engine/statistic/number/random_stream.h"
#include "schemas/vocabulary/assert.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kBootstrapSeed = 19'870'301;
constexpr std::size_t kJackknifeGroupsMax = 200;  // its skewness is the acceleration

// The values sorted, and the rank of each by its original place.
class RankedValues {
public:
    explicit RankedValues(std::span<const std::uint64_t> in_order) : sorted_(in_order.size()), rank_(in_order.size()) {
        std::vector<std::uint32_t> places(in_order.size());
        std::iota(places.begin(), places.end(), 0U);
        std::ranges::stable_sort(places, {}, [&](std::uint32_t place) { return in_order[place]; });
        for (std::uint32_t rank = 0; rank < places.size(); ++rank) {
            sorted_[rank] = in_order[places[rank]];
            rank_[places[rank]] = rank;
        }
    }

    [[nodiscard]] std::size_t size() const { return sorted_.size(); }
    [[nodiscard]] std::uint32_t rank_of(std::size_t place) const { return rank_[place]; }
    [[nodiscard]] std::span<const std::uint64_t> sorted() const { return sorted_; }

    // Fills `sample` with the value of each rank, counts[rank] times; ascending.
    void fill(std::span<const std::uint32_t> counts, std::vector<std::uint64_t>& sample) const {
        sample.clear();
        for (std::size_t rank = 0; rank < counts.size(); ++rank) {
            sample.insert(sample.end(), counts[rank], sorted_[rank]);
        }
    }

private:
    std::vector<std::uint64_t> sorted_;
    std::vector<std::uint32_t> rank_;
};

// Each figure's values of the drawn samples, ascending.
std::vector<std::vector<long double>> draw_figures(const RankedValues& values, std::span<const SampleFigure> figures,
                                                   std::size_t block) {
    RandomStream random{kBootstrapSeed};
    std::vector<std::vector<long double>> drawn(figures.size());
    std::vector<std::uint32_t> counts;
    std::vector<std::uint64_t> sample;
    sample.reserve(values.size());
    for (std::size_t draw = 0; draw < kBootstrapDraws; ++draw) {
        counts.assign(values.size(), 0);
        for (std::size_t done = 0; done < values.size();) {
            std::size_t place = random.below(values.size());
            for (std::size_t i = 0; i < block && done < values.size(); ++i, ++done) {
                ++counts[values.rank_of(place)];
                place = place + 1 == values.size() ? 0 : place + 1;
            }
        }
        values.fill(counts, sample);
        for (std::size_t i = 0; i < figures.size(); ++i) {
            drawn[i].push_back(figures[i](sample));
        }
    }
    for (std::vector<long double>& of_figure : drawn) {
        std::ranges::sort(of_figure);
    }
    return drawn;
}

// The acceleration of each figure, from samples that leave out one part of the values at a time.
std::vector<long double> accelerations(const RankedValues& values, std::span<const SampleFigure> figures,
                                       std::size_t block) {
    const std::size_t group_count = std::min(kJackknifeGroupsMax, std::max<std::size_t>(values.size() / block, 2));
    std::vector<std::vector<long double>> without(figures.size());
    std::vector<std::uint32_t> counts;
    std::vector<std::uint64_t> sample;
    for (std::size_t group = 0; group < group_count; ++group) {
        counts.assign(values.size(), 1);
        for (std::size_t place = group * values.size() / group_count; place < (group + 1) * values.size() / group_count;
             ++place) {
            counts[values.rank_of(place)] = 0;
        }
        values.fill(counts, sample);
        for (std::size_t i = 0; i < figures.size(); ++i) {
            without[i].push_back(figures[i](sample));
        }
    }
    std::vector<long double> found;
    for (const std::vector<long double>& of_figure : without) {
        const long double mean =
            std::accumulate(of_figure.begin(), of_figure.end(), 0.0L) / static_cast<long double>(group_count);
        long double squares = 0;
        long double cubes = 0;
        for (const long double figure : of_figure) {
            squares += (mean - figure) * (mean - figure);
            cubes += (mean - figure) * (mean - figure) * (mean - figure);
        }
        found.push_back(squares > 0 ? cubes / (6 * std::pow(squares, 1.5L)) : 0);
    }
    return found;
}

long double at_share(std::span<const long double> sorted, long double share) {
    const auto rank = static_cast<std::int64_t>(std::ceil(share * static_cast<long double>(sorted.size()))) - 1;
    return sorted[static_cast<std::size_t>(
        std::clamp<std::int64_t>(rank, 0, static_cast<std::int64_t>(sorted.size()) - 1))];
}

std::optional<Interval> interval_of(std::span<const long double> drawn, long double figure, long double acceleration,
                                    long double confidence) {
    const auto below = std::ranges::lower_bound(drawn, figure) - drawn.begin();
    const auto not_above = std::ranges::upper_bound(drawn, figure) - drawn.begin();
    const long double share = (static_cast<long double>(below) + static_cast<long double>(not_above)) / 2 /
                              static_cast<long double>(drawn.size());
    if (share <= 0 || share >= 1 || drawn.front() == drawn.back()) {
        return std::nullopt;
    }
    const long double bias = normal_quantile(share);
    const auto moved = [&](long double z) {
        const long double sum = bias + z;
        return normal_probability(bias + sum / (1 - acceleration * sum));
    };
    const long double z = normal_quantile((1 + confidence) / 2);
    return Interval{at_share(drawn, moved(-z)), at_share(drawn, moved(z))};
}

}  // namespace

std::size_t bootstrap_block(std::size_t value_count, long double dependence) {
    if (dependence <= 1) {
        return 1;
    }
    // Long enough to keep dependent values together; at most a tenth of the values, so that the draws differ.
    const auto wanted = static_cast<std::size_t>(std::ceil(4 * dependence));
    return std::clamp<std::size_t>(wanted, 1, std::max<std::size_t>(value_count / 10, 1));
}

std::vector<std::optional<Interval>> bootstrap_intervals(std::span<const std::uint64_t> in_order,
                                                         std::span<const SampleFigure> figures, long double confidence,
                                                         std::size_t block) {
    PERFLEET_ASSERT(in_order.size() <= kBootstrapValuesMax && block > 0);
    std::vector<std::optional<Interval>> intervals(figures.size());
    if (in_order.size() < kBootstrapValuesMin) {
        return intervals;
    }
    const RankedValues values{in_order};
    if (values.sorted().front() == values.sorted().back()) {
        return intervals;
    }
    const auto drawn = draw_figures(values, figures, block);
    const auto acceleration = accelerations(values, figures, block);
    for (std::size_t i = 0; i < figures.size(); ++i) {
        intervals[i] = interval_of(drawn[i], figures[i](values.sorted()), acceleration[i], confidence);
    }
    return intervals;
}

}  // namespace perfleet
