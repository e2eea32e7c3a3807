// Compares two samples of measured values by figure: mean, percentiles, maximum. Gives the change, its interval, and
// the p value of no change.
//
// A sample is one or more runs. Runs are the independent units, because values of one run may be alike: intervals
// follow the variation between runs. Within runs, if requested, values count by their dependence (dependence.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "query-engine/statistic/number/cluster.h"
#include "query-engine/statistic/number/comparison.h"
#include "query-engine/statistic/number/quantile.h"
#include "query-engine/statistic/number/rank_shift.h"
#include "storage/number/moments.h"

namespace perfleet {

enum class LatencyFigureKind : std::uint8_t { kMean, kQuantile, kMax };
struct LatencyFigure {
    LatencyFigureKind kind{};
    Quantile quantile;  // of kQuantile

    friend auto operator<=>(const LatencyFigure&, const LatencyFigure&) = default;
};
// Parses "mean", "median", "p99.9", "max". Nothing for other texts.
[[nodiscard]] std::optional<LatencyFigure> parse_figure(std::string_view text);
[[nodiscard]] std::string figure_name(const LatencyFigure& figure);

// One run: its moments, and its values or a uniform sample of them, ascending. Runs of both sides with the same number
// are a pair: the same target before and after.
struct ComparedRun {
    std::size_t number = 0;
    Moments moments;
    std::vector<std::uint64_t> values;
    // The first values in the order of measurement, at most kDependenceValuesMax; empty: values count as independent.
    // Used only for comparisons within runs.
    std::vector<std::uint64_t> in_order;
};

// Not thread-safe.
class ValueComparison {
public:
    // Each side has at least one run, each run at least one value.
    ValueComparison(std::vector<ComparedRun> before, std::vector<ComparedRun> after, bool by_runs);

    // The median is the mean of the middle two; percentiles are nearest ranks.
    [[nodiscard]] long double before(const LatencyFigure& figure) const { return value_of(before_, figure); }
    [[nodiscard]] long double after(const LatencyFigure& figure) const { return value_of(after_, figure); }
    // after − before.
    [[nodiscard]] long double difference(const LatencyFigure& figure) const {
        return figure.kind == LatencyFigureKind::kMean ? mean_difference(before_.moments, after_.moments)
                                                       : after(figure) - before(figure);
    }
    // Nothing for kMax: a sample doesn't predict the maximum of another sample.
    [[nodiscard]] Contrast contrast(const LatencyFigure& figure, long double confidence) const;
    // Two-sided p value of after ÷ before = `ratio`. 1 if there is no interval.
    [[nodiscard]] long double p_value(const LatencyFigure& figure, long double ratio = 1) const;

    // Cohen's d of the values, ignoring runs.
    [[nodiscard]] std::optional<long double> cohens_d() const;

    struct Ranks {
        long double shift = 0;  // Hodges and Lehmann's
        std::optional<Interval> shift_interval;
        long double superiority = 0.5L;  // P(after > before) + P(equal) ÷ 2; Cliff's delta is 2 × this − 1
        std::optional<Interval> superiority_interval;
        // Of that interval: Brunner and Munzel's; by runs Obuchowski's; of runs of one value each Mann and Whitney's.
        std::optional<long double> p_value;
        // Of runs of one value each, all above 0: Hodges and Lehmann's for the logarithms.
        std::optional<long double> ratio;
        std::optional<Interval> ratio_interval;
    };
    [[nodiscard]] Ranks ranks(long double confidence) const;
    // Mann and Whitney's p value of after ÷ before = `ratio`, of runs of one value each. 1 where that can't be tested.
    [[nodiscard]] long double rank_p_value(long double ratio) const;
    // Whether all values of both sides are the same.
    [[nodiscard]] bool is_constant() const;

private:
    struct Side {
        Moments moments;
        std::vector<std::size_t> run_numbers;
        std::vector<Moments> run_moments;
        ValueRuns runs;
        std::vector<std::uint64_t> values;  // of all runs, ascending
        std::vector<std::uint64_t> in_order;
        mutable std::map<Quantile, long double> dependence;  // found so far
    };
    static Side make_side(std::vector<ComparedRun> runs);
    static long double value_of(const Side& side, const LatencyFigure& figure);
    // The dependence of the placements of values of `side` among those of `other`.
    static long double placement_dependence(const Side& side, const Side& other);
    [[nodiscard]] std::optional<Interval> quantile_interval(const Side& side, Quantile quantile,
                                                            long double confidence) const;

    Side before_;
    Side after_;
    bool is_by_runs_ = false;
    bool are_single_ = false;    // runs of one value each, without pairs: their ranks are independent
    long double reach_min_ = 0;  // least half-width of intervals: the clock's resolution
    std::optional<MeanContrast> means_;
    std::optional<Superiority> superiority_;
    bool is_dependent_ = false;  // within runs, in ranks
};

}  // namespace perfleet
