#include "query-engine/statistic/latency/latency_bootstrap.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "daemon/option/option.h"
#include "query-engine/statistic/answer/answer_row.h"
#include "query-engine/statistic/number/bootstrap.h"
#include "query-engine/statistic/number/dependence.h"
#include "query-engine/statistic/number/description.h"
#include "query-engine/statistic/number/quantile.h"

namespace perfleet {
namespace {

using Sorted = std::span<const std::uint64_t>;

// The mean of integers, without rounding them first.
long double mean_of(Sorted values) {
    long double sum = 0;
    for (const std::uint64_t value : values) {
        sum += static_cast<long double>(value - values.front());
    }
    return static_cast<long double>(values.front()) + sum / static_cast<long double>(values.size());
}

long double deviation_of(Sorted values) {
    const long double mean = mean_of(values);
    long double squares = 0;
    for (const std::uint64_t value : values) {
        const long double distance = static_cast<long double>(value) - mean;
        squares += distance * distance;
    }
    return values.size() < 2 ? 0 : std::sqrt(squares / static_cast<long double>(values.size() - 1));
}

long double median_of(Sorted values) {
    const std::size_t half = values.size() / 2;
    const auto high = static_cast<long double>(values[half]);
    return values.size() % 2 == 1 ? high : high - static_cast<long double>(values[half] - values[half - 1]) / 2;
}

// The median distance from the median: takes the nearest values of both sides, one after another.
long double absolute_deviation_of(Sorted values) {
    const long double median = median_of(values);
    const auto distance = [&](std::size_t i) { return std::abs(static_cast<long double>(values[i]) - median); };
    std::size_t below = values.size() / 2;  // values before this index aren't taken yet
    std::size_t above = below;
    long double last = 0;
    long double before_last = 0;
    for (std::size_t taken = 0; taken <= values.size() / 2; ++taken) {
        before_last = last;
        const bool takes_below = above == values.size() || (below > 0 && distance(below - 1) <= distance(above));
        last = takes_below ? distance(--below) : distance(above++);
    }
    return values.size() % 2 == 1 ? last : (before_last + last) / 2;
}

SampleFigure figure_of(const BootstrapFigure& figure) {
    switch (figure.kind) {
        case BootstrapKind::kMean: return mean_of;
        case BootstrapKind::kDeviation: return deviation_of;
        case BootstrapKind::kVariation:
            return [](Sorted values) {
                const long double mean = mean_of(values);
                return mean == 0 ? 0 : 100 * deviation_of(values) / mean;
            };
        case BootstrapKind::kMiddle: return median_of;
        case BootstrapKind::kAbsoluteDeviation: return absolute_deviation_of;
        case BootstrapKind::kPercentile:
            return [quantile = figure.quantile](Sorted values) {
                return static_cast<long double>(values[nearest_rank(quantile, values.size())]);
            };
    }
    return mean_of;
}

std::optional<Quantile> quantile_of(const BootstrapFigure& figure) {
    return figure.kind == BootstrapKind::kPercentile ? std::optional{figure.quantile}
           : figure.kind == BootstrapKind::kMiddle   ? std::optional{kMedian}
                                                     : std::nullopt;
}

// Drops intervals of percentiles from fewer values than order statistics demand: draws only repeat existing values, and
// don't show what lies beyond.
Result<Done> drop_unfounded(std::span<const std::uint64_t> in_order, const std::string& event,
                            const LatencyOptions& options, std::vector<std::optional<Interval>>& intervals,
                            std::vector<std::string>& warnings) {
    for (std::size_t i = 0; i < intervals.size(); ++i) {
        const BootstrapFigure& figure = options.bootstrap[i];
        const auto quantile = quantile_of(figure);
        if (!intervals[i] || !quantile) {
            continue;
        }
        const auto described =
            PERFLEET_TRY(describe(pieces_of(in_order), std::span{&*quantile, 1}, options.confidence, in_order));
        if (!described.percentiles[0].ranks) {
            intervals[i].reset();
            const std::uint64_t needed = values_needed(*quantile, options.confidence);
            warnings.push_back(fmt::format("{}: no interval of {}: it takes {} independent values, and {} are there{}",
                                           event, figure.name, needed, in_order.size(),
                                           in_order.size() >= needed ? ", which depend on each other" : ""));
        }
    }
    return Done{};
}

}  // namespace

Result<std::vector<BootstrapFigure>> parse_bootstrap_figures(const std::string& text) {
    constexpr std::size_t kFiguresMax = 16;
    std::vector<BootstrapFigure> figures;
    for (const std::string& part : split_list(text)) {
        BootstrapFigure figure{part, BootstrapKind::kPercentile, {}};
        if (part == "mean" || part == "sd" || part == "cv" || part == "median" || part == "mad") {
            figure.kind = part == "mean"     ? BootstrapKind::kMean
                          : part == "sd"     ? BootstrapKind::kDeviation
                          : part == "cv"     ? BootstrapKind::kVariation
                          : part == "median" ? BootstrapKind::kMiddle
                                             : BootstrapKind::kAbsoluteDeviation;
        } else {
            figure.quantile =
                (part.starts_with('p') ? parse_percentile(std::string_view{part}.substr(1)) : std::nullopt)
                    .value_or(Quantile{});
            if (figure.quantile.billionths == 0 || figure.quantile.billionths == Quantile::kWhole) {
                return option_error("bootstrap", text,
                                    "a list of mean, sd, cv, median, mad and percentiles between p0 and p100, such as "
                                    "sd,p99.9 (of the least and the greatest value no sample says anything)");
            }
        }
        figures.push_back(std::move(figure));
    }
    if (figures.empty() || figures.size() > kFiguresMax) {
        return option_error("bootstrap", text, "a list of 1 to 16 figures");
    }
    return figures;
}

Result<Done> add_bootstrap_row(const Scan& scan, const ValueSource& source, const LatencyOptions& options,
                               Answer& answer) {
    MemoryShare share{scan.memory()};
    const auto values = PERFLEET_TRY(first_values(scan, source, kBootstrapValuesMax, share));
    if (values.empty()) {
        return Done{};
    }
    const std::size_t block = bootstrap_block(values.size(), dependence_of_mean(values));
    std::vector<SampleFigure> figures;
    std::ranges::transform(options.bootstrap, std::back_inserter(figures), figure_of);
    auto intervals = bootstrap_intervals(values, figures, options.confidence, block);
    PERFLEET_TRY(drop_unfounded(values, source.event, options, intervals, answer.warnings));
    std::vector<std::uint64_t> sorted = values;
    std::ranges::sort(sorted);
    RowMaker row{answer, source.unit};
    add_identity(row, scan, source);
    row.add("count", "", std::uint64_t{values.size()});
    row.add("block", "", std::uint64_t{block});
    for (std::size_t i = 0; i < figures.size(); ++i) {
        const std::string& name = options.bootstrap[i].name;
        const bool is_share = options.bootstrap[i].kind == BootstrapKind::kVariation;
        const auto add = [&](const std::string& column, std::optional<long double> figure) {
            if (is_share) {
                row.add(column, "percent", real(figure));
            } else {
                row.figure(column, figure);
            }
        };
        add(name, figures[i](sorted));
        add(name + "_low", intervals[i] ? std::optional{intervals[i]->low} : std::nullopt);
        add(name + "_high", intervals[i] ? std::optional{intervals[i]->high} : std::nullopt);
    }
    row.end();
    if (values.size() == kBootstrapValuesMax) {
        answer.warnings.push_back(
            fmt::format("{}: --bootstrap is of the first {} values", source.event, values.size()));
    }
    if (values.size() < kBootstrapValuesMin || sorted.front() == sorted.back()) {
        answer.warnings.push_back(
            fmt::format("{}: no intervals: {} values, which must be {} at least and not all equal", source.event,
                        values.size(), kBootstrapValuesMin));
    }
    return Done{};
}

}  // namespace perfleet
