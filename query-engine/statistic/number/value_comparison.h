// Two samples of measured values compared figure by figure: by how much the mean, a percentile or the greatest value
// changed, between which bounds, and how likely so great a change is where there is none.
//
// A sample is one run or several. What is independent is the runs, for values of one run may be alike: intervals say
// how runs differ. Within runs, where that is asked for, values count for as many as their order says (dependence.h).
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
// "mean", "median", "p99.9", "max". Nothing when the text is something else.
[[nodiscard]] std::optional<LatencyFigure> parse_figure(std::string_view text);
[[nodiscard]] std::string figure_name(const LatencyFigure& figure);

// One run: its moments, and its values or a fair draw of them, ascending. Runs of both samples with the same number are
// a pair: the same target before and after.
struct ComparedRun {
    std::size_t number = 0;
    Moments moments;
    std::vector<std::uint64_t> values;
    // Its first values in the order in which they were measured, at most kDependenceValuesMax; none: taken as
    // independent. Used within runs alone.
    std::vector<std::uint64_t> in_order;
};

// Not for several threads at once.
class ValueComparison {
public:
    // Each side has at least one run, and each run values.
    ValueComparison(std::vector<ComparedRun> before, std::vector<ComparedRun> after, bool by_runs);

    // The median is the mean of the middle two; percentiles are nearest ranks.
    [[nodiscard]] long double before(const LatencyFigure& figure) const { return value_of(before_, figure); }
    [[nodiscard]] long double after(const LatencyFigure& figure) const { return value_of(after_, figure); }
    // after − before.
    [[nodiscard]] long double difference(const LatencyFigure& figure) const {
        return figure.kind == LatencyFigureKind::kMean ? mean_difference(before_.moments, after_.moments)
                                                       : after(figure) - before(figure);
    }
    // Nothing for kMax: how great the greatest value of another sample would be, no sample says.
    [[nodiscard]] Contrast contrast(const LatencyFigure& figure, long double confidence) const;
    // Two-sided, of after ÷ before = `ratio`. 1 where there is no interval.
    [[nodiscard]] long double p_value(const LatencyFigure& figure, long double ratio = 1) const;

    // Cohen's d of the values, whatever the runs.
    [[nodiscard]] std::optional<long double> cohens_d() const;

    struct Ranks {
        long double shift = 0;  // Hodges and Lehmann's
        std::optional<Interval> shift_interval;
        long double superiority = 0.5L;  // P(after > before) + P(equal) ÷ 2; Cliff's delta is 2 × this − 1
        std::optional<Interval> superiority_interval;
        std::optional<long double> p_value;  // of that interval: Brunner and Munzel's; by runs Obuchowski's
    };
    [[nodiscard]] Ranks ranks(long double confidence) const;

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
    // Of how values of `side` lie among those of `other`.
    static long double placement_dependence(const Side& side, const Side& other);
    [[nodiscard]] std::optional<Interval> quantile_interval(const Side& side, Quantile quantile,
                                                            long double confidence) const;

    Side before_;
    Side after_;
    bool is_by_runs_ = false;
    long double reach_min_ = 0;  // of intervals: the clock's resolution
    std::optional<MeanContrast> means_;
    std::optional<Superiority> superiority_;
    bool is_dependent_ = false;  // within runs, in ranks
};

}  // namespace perfleet
