#include "query-engine/statistic/number/value_comparison.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "query-engine/statistic/number/dependence.h"
#include "query-engine/statistic/number/validity_warning.h"
#include "schemas/vocabulary/assert.h"

namespace perfleet {

namespace {

// The uncertainty due to the clock's resolution: half a step; a whole step if all values of a sample are equal, as no
// noise shows what lies between two steps. Both samples ascend.
long double reach_of(const std::vector<std::uint64_t>& before, const std::vector<std::uint64_t>& after) {
    const std::uint64_t apart = std::max(before[0], after[0]) - std::min(before[0], after[0]);
    const std::uint64_t step = std::gcd(std::gcd(step_of(before), step_of(after)), apart);
    const bool is_alike = before.front() == before.back() || after.front() == after.back();
    return static_cast<long double>(std::max<std::uint64_t>(step, 1)) / (is_alike ? 1 : 2);
}

// Logarithms in steps of 2^-40, of values above 0 times `ratio`: sums of them are products, as exact as values are.
// Empty if a value is 0.
std::vector<std::uint64_t> logarithms(const std::vector<std::uint64_t>& values, long double ratio) {
    constexpr long double kStepsADoubling = 1ULL << 40;
    constexpr long double kOffset = 1'024;  // keeps logarithms of small ratios above 0
    std::vector<std::uint64_t> found;
    if (values.front() == 0 || ratio <= 0) {
        return found;
    }
    for (const std::uint64_t value : values) {
        const long double doublings = std::log2(static_cast<long double>(value)) + std::log2(ratio);
        found.push_back(static_cast<std::uint64_t>(std::llround((doublings + kOffset) * kStepsADoubling)));
    }
    return found;
}

long double ratio_of_logarithm(long double steps) { return std::exp2(steps / (1ULL << 40)); }

}  // namespace

std::optional<LatencyFigure> parse_figure(std::string_view text) {
    if (text == "mean") {
        return LatencyFigure{LatencyFigureKind::kMean, {}};
    }
    if (text == "max") {
        return LatencyFigure{LatencyFigureKind::kMax, {}};
    }
    if (text == "median") {
        return LatencyFigure{LatencyFigureKind::kQuantile, kMedian};
    }
    const auto quantile = text.starts_with('p') ? parse_percentile(text.substr(1)) : std::nullopt;
    return quantile ? std::optional{LatencyFigure{LatencyFigureKind::kQuantile, *quantile}} : std::nullopt;
}

std::string figure_name(const LatencyFigure& figure) {
    switch (figure.kind) {
        case LatencyFigureKind::kMean: return "mean";
        case LatencyFigureKind::kMax: return "max";
        case LatencyFigureKind::kQuantile: break;
    }
    return figure.quantile == kMedian ? "median" : percentile_name(figure.quantile);
}

ValueComparison::ValueComparison(std::vector<ComparedRun> before, std::vector<ComparedRun> after, bool by_runs)
    : before_{make_side(std::move(before))}, after_{make_side(std::move(after))}, is_by_runs_{by_runs} {
    reach_min_ = reach_of(before_.values, after_.values);
    if (is_by_runs_) {
        std::map<std::size_t, RunPair> runs;
        for (std::size_t i = 0; i < before_.run_numbers.size(); ++i) {
            runs[before_.run_numbers[i]].before = before_.run_moments[i];
        }
        for (std::size_t i = 0; i < after_.run_numbers.size(); ++i) {
            runs[after_.run_numbers[i]].after = after_.run_moments[i];
        }
        std::vector<RunPair> pairs;
        for (auto& [number, run] : runs) {
            pairs.push_back(run);
        }
        are_single_ = before_.values.size() == before_.runs.size() && after_.values.size() == after_.runs.size() &&
                      pairs.size() == before_.runs.size() + after_.runs.size();
        means_ = mean_contrast(pairs);
    } else {
        means_ = mean_contrast(before_.moments, after_.moments, dependence_of_mean(before_.in_order),
                               dependence_of_mean(after_.in_order));
    }
    if (means_) {
        means_->reach_min = reach_min_;
    }
    const long double first = is_by_runs_ ? 1 : placement_dependence(before_, after_);
    const long double second = is_by_runs_ ? 1 : placement_dependence(after_, before_);
    is_dependent_ = first > 1 || second > 1;
    superiority_ = superiority_of(before_.runs, after_.runs, is_by_runs_, first, second);
}

long double ValueComparison::placement_dependence(const Side& side, const Side& other) {
    std::vector<double> placements;
    for (const std::uint64_t value : side.in_order) {
        const auto [below, above] = std::equal_range(other.values.begin(), other.values.end(), value);
        placements.push_back(static_cast<double>((below - other.values.begin()) + (above - other.values.begin())));
    }
    return dependence_factor(std::move(placements));
}

ValueComparison::Side ValueComparison::make_side(std::vector<ComparedRun> runs) {
    PERFLEET_ASSERT(!runs.empty());
    Side side;
    for (ComparedRun& run : runs) {
        PERFLEET_ASSERT(!run.values.empty());
        side.moments.merge(run.moments);
        side.run_numbers.push_back(run.number);
        side.run_moments.push_back(run.moments);
        side.runs.push_back(std::move(run.values));
        side.in_order.insert(side.in_order.end(), run.in_order.begin(), run.in_order.end());
    }
    side.in_order.resize(std::min(side.in_order.size(), kDependenceValuesMax));
    side.values = pooled_values(side.runs);
    return side;
}

long double ValueComparison::value_of(const Side& side, const LatencyFigure& figure) {
    switch (figure.kind) {
        case LatencyFigureKind::kMean: return *side.moments.mean();
        case LatencyFigureKind::kMax: return static_cast<long double>(side.moments.max());
        case LatencyFigureKind::kQuantile: break;
    }
    if (figure.quantile == kMedian) {
        const RankBetween middle = rank_between(kMedian, side.values.size());
        return middle.between(side.values[middle.index], side.values[middle.next()]);
    }
    return static_cast<long double>(side.values[nearest_rank(figure.quantile, side.values.size())]);
}

std::optional<Interval> ValueComparison::quantile_interval(const Side& side, Quantile quantile,
                                                           long double confidence) const {
    auto count = static_cast<long double>(side.values.size());
    const std::uint64_t value = side.values[nearest_rank(quantile, side.values.size())];
    if (!is_by_runs_) {
        const auto [factor, is_new] = side.dependence.try_emplace(quantile, 1);
        if (is_new) {
            factor->second = dependence_of_share(side.in_order, value);
        }
        count /= factor->second;
    } else {
        Stratum runs;
        for (const std::vector<std::uint64_t>& run : side.runs) {
            const auto below = std::upper_bound(run.begin(), run.end(), value) - run.begin();
            runs.push_back({static_cast<std::uint64_t>(below), run.size()});
        }
        count = effective_count(clustered_share(std::span{&runs, 1}), confidence);
    }
    const auto ranks = rank_interval(quantile, side.values.size(), count, confidence);
    return ranks ? std::optional{Interval{static_cast<long double>(side.values[ranks->low]),
                                          static_cast<long double>(side.values[ranks->high])}}
                 : std::nullopt;
}

Contrast ValueComparison::contrast(const LatencyFigure& figure, long double confidence) const {
    Contrast contrast;
    if (figure.kind == LatencyFigureKind::kMean) {
        if (means_) {
            contrast.difference = difference_interval(*means_, confidence);
            contrast.ratio = ratio_interval(*means_, confidence);
        }
    } else if (figure.kind == LatencyFigureKind::kQuantile) {
        const auto first = quantile_interval(before_, figure.quantile, confidence);
        const auto second = quantile_interval(after_, figure.quantile, confidence);
        if (first && second) {
            contrast.difference = widened_difference(difference_of(before(figure), *first, after(figure), *second),
                                                     after(figure) - before(figure), reach_min_);
            contrast.ratio = ratio_of(before(figure), *first, after(figure), *second);
            if (contrast.ratio) {
                contrast.ratio = widened_ratio(*contrast.ratio, before(figure), after(figure), reach_min_);
            }
        }
    }
    return contrast;
}

long double ValueComparison::p_value(const LatencyFigure& figure, long double ratio) const {
    if (figure.kind == LatencyFigureKind::kMean) {
        return means_ ? mean_p_value(*means_, ratio) : 1;
    }
    if (ratio == 1) {
        return p_value_from([&](long double confidence) { return contrast(figure, confidence).difference; }, 0);
    }
    return p_value_from([&](long double confidence) { return contrast(figure, confidence).ratio; }, ratio);
}

std::optional<long double> ValueComparison::cohens_d() const {
    return perfleet::cohens_d(before_.moments, after_.moments);
}

ValueComparison::Ranks ValueComparison::ranks(long double confidence) const {
    Ranks ranks;
    ranks.shift = shift_of(before_.values, after_.values);
    ranks.superiority = superiority_ ? superiority_->chance : rank_test(before_.values, after_.values).superiority;
    if (superiority_) {
        ranks.superiority_interval = superiority_interval(*superiority_, confidence);
        ranks.p_value = superiority_p_value(*superiority_);
        ranks.shift_interval = shift_interval(before_.values, after_.values,
                                              is_by_runs_ || is_dependent_ ? &*superiority_ : nullptr, confidence);
    }
    if (are_single_) {
        ranks.p_value = rank_p_value(1);
        ranks.shift_interval = shift_interval(before_.values, after_.values, nullptr, confidence);
        const auto first = logarithms(before_.values, 1);
        const auto second = logarithms(after_.values, 1);
        if (!first.empty() && !second.empty()) {
            ranks.ratio = ratio_of_logarithm(shift_of(first, second));
            if (const auto steps = shift_interval(first, second, nullptr, confidence)) {
                ranks.ratio_interval = Interval{ratio_of_logarithm(steps->low), ratio_of_logarithm(steps->high)};
            }
        }
    }
    if (ranks.shift_interval) {
        ranks.shift_interval = widened_difference(*ranks.shift_interval, ranks.shift, reach_min_);
    }
    return ranks;
}

long double ValueComparison::rank_p_value(long double ratio) const {
    if (!are_single_) {
        return 1;
    }
    if (ratio == 1) {
        return rank_test(before_.values, after_.values).p_value;
    }
    const auto first = logarithms(before_.values, ratio);
    const auto second = logarithms(after_.values, 1);
    return first.empty() || second.empty() ? 1 : rank_test(first, second).p_value;
}

bool ValueComparison::is_constant() const {
    return before_.values.front() == before_.values.back() && after_.values.front() == after_.values.back() &&
           before_.values.front() == after_.values.front();
}

}  // namespace perfleet
