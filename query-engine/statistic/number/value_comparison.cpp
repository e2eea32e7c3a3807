#include "query-engine/statistic/number/value_comparison.h"

#include <algorithm>

#include "query-engine/statistic/number/cluster.h"
#include "schemas/vocabulary/assert.h"

namespace perfleet {

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

ValueComparison::ValueComparison(std::vector<ComparedRun> before, std::vector<ComparedRun> after)
    : before_{make_side(std::move(before))}, after_{make_side(std::move(after))} {
    const auto has_runs = [](const Side& side) {
        return side.runs.size() > 1 && side.values.size() > side.runs.size();
    };
    is_by_runs_ = before_.runs.size() > 1 && after_.runs.size() > 1 && (has_runs(before_) || has_runs(after_));
}

ValueComparison::Side ValueComparison::make_side(std::vector<ComparedRun> runs) {
    PERFLEET_ASSERT(!runs.empty());
    Side side;
    for (ComparedRun& run : runs) {
        PERFLEET_ASSERT(!run.values.empty());
        side.moments.merge(run.moments);
        side.run_moments.push_back(run.moments);
        side.runs.push_back(std::move(run.values));
    }
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

std::optional<MeanEstimate> ValueComparison::mean_of(const Side& side) const {
    return is_by_runs_ ? clustered_mean(side.run_moments) : mean_estimate(side.moments);
}

std::optional<Interval> ValueComparison::quantile_interval(const Side& side, Quantile quantile,
                                                           long double confidence) const {
    auto count = static_cast<long double>(side.values.size());
    if (is_by_runs_) {
        const std::uint64_t value = side.values[nearest_rank(quantile, side.values.size())];
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
        const auto first = mean_of(before_);
        const auto second = mean_of(after_);
        if (first && second) {
            contrast.difference = difference_interval(*first, *second, confidence);
            contrast.ratio = ratio_interval(*first, *second, confidence);
        }
    } else if (figure.kind == LatencyFigureKind::kQuantile) {
        const auto first = quantile_interval(before_, figure.quantile, confidence);
        const auto second = quantile_interval(after_, figure.quantile, confidence);
        if (first && second) {
            contrast.difference = difference_of(before(figure), *first, after(figure), *second);
            contrast.ratio = ratio_of(before(figure), *first, after(figure), *second);
        }
    }
    return contrast;
}

long double ValueComparison::p_value(const LatencyFigure& figure, long double ratio) const {
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
    const auto superiority = superiority_of(before_.runs, after_.runs, is_by_runs_);
    if (superiority) {
        ranks.superiority_interval = superiority_interval(*superiority, confidence);
    }
    ranks.shift = shift_of(before_.values, after_.values);
    const RankTest test = rank_test(before_.values, after_.values);
    ranks.superiority = test.superiority;
    if (is_by_runs_) {
        ranks.p_value = superiority ? superiority_p_value(*superiority) : 1;
        ranks.shift_interval =
            superiority ? shift_interval(before_.values, after_.values, &*superiority, confidence) : std::nullopt;
    } else {
        ranks.p_value = test.p_value;
        ranks.shift_interval = shift_interval(before_.values, after_.values, nullptr, confidence);
    }
    return ranks;
}

}  // namespace perfleet
