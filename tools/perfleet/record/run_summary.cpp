#include "tools/perfleet/record/run_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "exporters/report/report_parts.h"
#include "query-engine/statistic/number/histogram.h"
#include "query-engine/statistic/number/interval.h"
#include "query-engine/statistic/number/quantile.h"
#include "schemas/text/layout.h"
#include "schemas/text/utf8.h"

namespace perfleet {
namespace {

constexpr LatencyFigure kMean{LatencyFigureKind::kMean, {}};

struct Column {
    const char* name;
    const char* unit;
};
constexpr std::array kElapsed{Column{"mean", "ns"}, Column{"mean_low", "ns"}, Column{"mean_high", "ns"},
                              Column{"sd", "ns"},   Column{"median", "ns"},   Column{"p90", "ns"},
                              Column{"min", "ns"},  Column{"max", "ns"}};
constexpr std::array kRelative{Column{"relative", ""}, Column{"relative_low", ""}, Column{"relative_high", ""},
                               Column{"p", ""},        Column{"p_adjusted", ""},   Column{"verdict", ""}};

AnswerValue real(const std::optional<long double>& value) {
    return value ? AnswerValue{static_cast<double>(*value)} : AnswerValue{};
}

std::vector<std::uint64_t> sorted_times(const MeasuredSide& side) {
    std::vector<std::uint64_t> times;
    for (const ComparedRun& run : side.elapsed) {
        times.push_back(run.values.front());
    }
    std::ranges::sort(times);
    return times;
}

Moments moments_of(const MeasuredSide& side) {
    Moments moments;
    for (const ComparedRun& run : side.elapsed) {
        moments.merge(run.moments);
    }
    return moments;
}

// Cells of a summary by the names of its columns.
class Rows {
public:
    explicit Rows(const Answer& answer) : answer_{answer} {
        for (std::size_t i = 0; i < answer.columns.size(); ++i) {
            columns_.emplace(answer.columns[i].name, i);
        }
    }
    [[nodiscard]] std::optional<double> real(std::size_t row, const std::string& name) const {
        const auto found = columns_.find(name);
        const auto* const number =
            found == columns_.end() ? nullptr : std::get_if<double>(&answer_.rows[row][found->second]);
        return number == nullptr ? std::nullopt : std::optional{*number};
    }
    [[nodiscard]] std::string text(std::size_t row, const std::string& name) const {
        const auto* const text = std::get_if<std::string>(&answer_.rows[row][columns_.at(name)]);
        return text == nullptr ? "" : *text;
    }

private:
    const Answer& answer_;
    std::map<std::string, std::size_t> columns_;
};

// Four digits: "12.35 ms".
std::string short_time(std::optional<double> time_ns) {
    if (!time_ns || *time_ns == 0) {
        return time_ns ? "0 ns" : "-";
    }
    const auto [worth, unit] = *time_ns >= 1e9   ? std::pair{1e9, "s"}
                               : *time_ns >= 1e6 ? std::pair{1e6, "ms"}
                               : *time_ns >= 1e3 ? std::pair{1e3, "us"}
                                                 : std::pair{1.0, "ns"};
    const double value = *time_ns / worth;
    return fmt::format("{:.{}f} {}", value, value >= 100 ? 1 : value >= 10 ? 2 : 3, unit);
}

std::string short_real(std::optional<double> value) { return value ? fmt::format("{:.2f}", *value) : "-"; }

std::string rate_text(double rate, const std::string& unit) {
    const auto [worth, prefix] = rate >= 1e9   ? std::pair{1e9, "G"}
                                 : rate >= 1e6 ? std::pair{1e6, "M"}
                                 : rate >= 1e3 ? std::pair{1e3, "k"}
                                               : std::pair{1.0, ""};
    return fmt::format("{:.2f} {}{}/s", rate / worth, prefix, unit);
}

// Equal steps from the least time to the 95th percentile of all commands' times; the last one holds all above.
class Distribution {
public:
    explicit Distribution(std::span<const MeasuredSide> sides) {
        std::vector<std::uint64_t> all;
        for (const MeasuredSide& side : sides) {
            const auto times = sorted_times(side);
            all.insert(all.end(), times.begin(), times.end());
        }
        std::ranges::sort(all);
        low_ = all.front();
        high_ = all[nearest_rank(Quantile::of_percent(95), all.size())];
        width_ = (high_ - low_) / kCells + 1;
    }

    [[nodiscard]] std::string cells_of(const MeasuredSide& side) const {
        constexpr std::array kHeights{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
        std::array<std::uint64_t, kCells> counts{};
        for (const std::uint64_t time : sorted_times(side)) {
            ++counts[std::min<std::uint64_t>((time - low_) / width_, kCells - 1)];
        }
        const std::uint64_t greatest = *std::ranges::max_element(counts);
        std::string text;
        for (const std::uint64_t count : counts) {
            const std::uint64_t height = bar_cells_half_up(count, greatest, kHeights.size() - 1);
            text += kHeights[count == 0 ? 0 : std::max<std::uint64_t>(height, 1)];
        }
        return text;
    }
    [[nodiscard]] std::string legend() const {
        return fmt::format("distribution: {} to {}, the last cell also above\n", short_time(static_cast<double>(low_)),
                           short_time(static_cast<double>(low_ + width_ * kCells)));
    }

private:
    static constexpr std::size_t kCells = 16;
    std::uint64_t low_ = 0;
    std::uint64_t high_ = 0;
    std::uint64_t width_ = 1;
};

// A bar for each value of the parameters.
std::string plot(const Rows& rows, std::span<const MeasuredSide> sides, const Screen& screen) {
    std::uint64_t greatest = 1;
    std::size_t width = 0;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < sides.size(); ++i) {
        greatest = std::max(greatest, static_cast<std::uint64_t>(rows.real(i, "mean").value_or(0)));
        std::string name = sides[i].side.name;
        for (const auto& [parameter, value] : sides[i].side.parameters) {
            name += " " + parameter + "=" + printable(value);
        }
        names.push_back(shortened(name, kShortenedWidthMin));
        width = std::max(width, text_width(names.back()));
    }
    std::string text = bold("mean of elapsed", screen) + "\n";
    for (std::size_t i = 0; i < sides.size(); ++i) {
        const double mean = rows.real(i, "mean").value_or(0);
        text += "  " + names[i] + std::string(width - text_width(names[i]), ' ') +
                fmt::format("  {:>9}  |", short_time(mean)) +
                std::string(bar_cells_half_up(static_cast<std::uint64_t>(mean), greatest, kBarWidth), '*') + "\n";
    }
    return text;
}

}  // namespace

std::vector<HolmTest> holm(std::span<const long double> p_values, long double alpha) {
    std::vector<std::size_t> order(p_values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return p_values[i]; });
    std::vector<HolmTest> tests(p_values.size());
    long double p_adjusted = 0;
    long double level = 0;
    bool is_shown = true;
    for (std::size_t place = 0; place < order.size(); ++place) {
        const auto others = static_cast<long double>(order.size() - place);
        level = is_shown ? alpha / others : level;  // the rest has the level of the first that isn't shown
        is_shown = is_shown && p_values[order[place]] < level;
        p_adjusted = std::max(p_adjusted, std::min(1.0L, others * p_values[order[place]]));
        tests[order[place]] = {p_adjusted, level};
    }
    return tests;
}

std::optional<Interval> elapsed_ratio(const MeasuredSide& before, const MeasuredSide& after, long double confidence) {
    if (before.elapsed.size() < 2 || after.elapsed.size() < 2) {
        return std::nullopt;
    }
    return ValueComparison{before.elapsed, after.elapsed, true}.contrast(kMean, confidence).ratio;
}

Answer summarise_runs(std::span<const MeasuredSide> sides, const SummaryOptions& options) {
    const long double alpha = 1 - options.confidence;
    std::map<std::size_t, ValueComparison> comparisons;
    std::vector<std::size_t> compared;
    std::vector<long double> p_values;
    for (std::size_t i = 0; i < sides.size(); ++i) {
        if (i != options.reference) {
            const auto& made =
                comparisons.emplace(i, ValueComparison{sides[options.reference].elapsed, sides[i].elapsed, true});
            compared.push_back(i);
            p_values.push_back(made.first->second.p_value(kMean));
        }
    }
    const std::vector<HolmTest> tests = holm(p_values, alpha);
    Answer answer;
    answer.columns = {{"side", ""}, {"command", ""}};
    for (const auto& [name, value] : sides.front().side.parameters) {
        answer.columns.push_back({"parameter_" + name, ""});
    }
    answer.columns.insert(answer.columns.end(), {{"runs", ""}, {"failed", ""}});
    for (const Column& column : kElapsed) {
        answer.columns.push_back({column.name, column.unit});
    }
    for (const MeasuredFigure& figure : sides.front().others) {
        answer.columns.push_back({figure.name, figure.unit});
    }
    for (const Column& column : kRelative) {
        answer.columns.push_back({column.name, column.unit});
    }
    for (const char* name : {"rate", "rate_low", "rate_high"}) {
        answer.columns.push_back({name, options.work_unit.empty() ? "" : options.work_unit + "/s"});
    }
    for (std::size_t i = 0; i < sides.size(); ++i) {
        const MeasuredSide& side = sides[i];
        const Moments moments = moments_of(side);
        const auto mean = moments.mean();
        const auto interval = mean_interval(moments, MeanBasis::kStudent, options.confidence);
        const auto times = sorted_times(side);
        const RankBetween middle = rank_between(kMedian, times.size());
        std::vector<AnswerValue>& row = answer.rows.emplace_back();
        row = {side.side.name, side.side.text};
        for (const auto& [name, value] : side.side.parameters) {
            row.emplace_back(value);
        }
        row.emplace_back(moments.count());
        row.emplace_back(side.failed_count);
        for (const auto& value :
             {mean, interval ? std::optional{interval->low} : std::nullopt,
              interval ? std::optional{interval->high} : std::nullopt, moments.standard_deviation(),
              std::optional{middle.between(times[middle.index], times[middle.next()])},
              std::optional<long double>{times[nearest_rank(Quantile::of_percent(90), times.size())]},
              std::optional<long double>{times.front()}, std::optional<long double>{times.back()}}) {
            row.push_back(real(value));
        }
        for (const MeasuredFigure& figure : side.others) {
            row.push_back(real(figure.moments.mean()));
        }
        const auto comparison = comparisons.find(i);
        if (comparison == comparisons.end()) {
            row.resize(row.size() + kRelative.size());
        } else {
            const auto place = static_cast<std::size_t>(std::ranges::find(compared, i) - compared.begin());
            const HolmTest& test = tests[place];
            const auto ratio = comparison->second.contrast(kMean, 1 - test.level).ratio;
            const auto before = comparison->second.before(kMean);
            const auto relative = before > 0 ? std::optional{comparison->second.after(kMean) / before} : std::nullopt;
            const bool is_shown = test.p_adjusted < alpha;
            row.push_back(real(relative));
            row.push_back(real(ratio ? std::optional{ratio->low} : std::nullopt));
            row.push_back(real(ratio ? std::optional{ratio->high} : std::nullopt));
            row.push_back(real(p_values[place]));
            row.push_back(real(test.p_adjusted));
            row.emplace_back(!is_shown ? "no" : comparison->second.difference(kMean) > 0 ? "slower" : "faster");
        }
        const auto rate = [&](const std::optional<long double>& time_ns) {
            return options.work > 0 && time_ns && *time_ns > 0 ? std::optional{options.work * 1e9L / *time_ns}
                                                               : std::nullopt;
        };
        row.push_back(real(rate(mean)));
        row.push_back(real(rate(interval ? std::optional{interval->high} : std::nullopt)));
        row.push_back(real(rate(interval ? std::optional{interval->low} : std::nullopt)));
        answer.ledger.produced += moments.count();
    }
    answer.ledger.stored = answer.ledger.produced;
    return answer;
}

std::string summary_text(const Answer& summary, std::span<const MeasuredSide> sides, bool has_relative,
                         const SummaryOptions& options, const Screen& screen) {
    constexpr std::size_t kOthersMax = 4;
    const Rows rows{summary};
    const Distribution distribution{sides};
    std::vector<std::vector<std::string>> times{{"", "mean", "+-", "median", "p90", "min", "max", "distribution"}};
    std::vector<std::vector<std::string>> means{{"mean of"}};
    std::vector<std::vector<std::string>> relative{
        {"relative to " + sides[options.reference].side.name, "times", "low", "high", "p", "shown"}};
    std::string names;
    std::string rates;
    const std::size_t other_count = std::min(sides.front().others.size(), kOthersMax);
    for (std::size_t i = 0; i < other_count; ++i) {
        means[0].push_back(sides.front().others[i].name);
    }
    for (std::size_t i = 0; i < sides.size(); ++i) {
        const ComparedSide& side = sides[i].side;
        const auto mean = rows.real(i, "mean");
        const auto high = rows.real(i, "mean_high");
        times.push_back(
            {side.name, short_time(mean), mean && high ? fmt::format("{:.1f}%", (*high / *mean - 1) * 100) : "-",
             short_time(rows.real(i, "median")), short_time(rows.real(i, "p90")), short_time(rows.real(i, "min")),
             short_time(rows.real(i, "max")), distribution.cells_of(sides[i])});
        means.push_back({side.name});
        for (std::size_t other = 0; other < other_count; ++other) {
            const MeasuredFigure& figure = sides[i].others[other];
            const auto value = rows.real(i, figure.name);
            means.back().push_back(figure.unit == "ns" ? short_time(value) : short_real(value));
        }
        if (i != options.reference) {
            relative.push_back({side.name, short_real(rows.real(i, "relative")),
                                short_real(rows.real(i, "relative_low")), short_real(rows.real(i, "relative_high")),
                                probability(rows.real(i, "p_adjusted")), rows.text(i, "verdict")});
        }
        names += shortened(fmt::format("  {}  {}", side.name, printable(side.text)), screen.width_columns) + "\n";
        const auto rate = rows.real(i, "rate");
        const auto low = rows.real(i, "rate_low");
        const auto up = rows.real(i, "rate_high");
        if (rate) {
            rates += fmt::format("  {}  {}{}\n", side.name, rate_text(*rate, options.work_unit),
                                 low && up ? fmt::format(" [{}, {}]", rate_text(*low, options.work_unit),
                                                         rate_text(*up, options.work_unit))
                                           : "");
        }
    }
    const bool has_parameters = !sides.front().side.parameters.empty();
    const std::string percent = fmt::format("{:g}", static_cast<double>(options.confidence * 100));
    return counted_noun(sides.front().elapsed.size(), "run") + (sides.size() > 1 ? " of each" : "") + "\n" + names +
           "\n" + bold("elapsed", screen) + "\n" + aligned(times, {0, 7}, screen) +
           (has_relative ? "\n" + aligned(means, {0}, screen) : "") +
           (has_parameters ? "\n" + plot(rows, sides, screen) : "") +
           (has_relative && sides.size() > 1 ? "\n" + aligned(relative, {0, 5}, screen) : "") +
           (rates.empty() ? "" : "\n" + bold("throughput", screen) + "\n" + rates) + "\n" + distribution.legend() +
           "+-: the mean is known to it with " + percent + " % confidence\n" +
           (has_relative && sides.size() > 2 ? "p, low, high: of all commands together (Holm)\n" : "");
}

Answer summary_for_markdown(const Answer& summary) {
    const Rows rows{summary};
    Answer answer;
    answer.columns = {{"Command", ""}, {"Mean", ""}, {"Median", ""}, {"Min", ""}, {"Max", ""}, {"Relative", ""}};
    for (std::size_t i = 0; i < summary.rows.size(); ++i) {
        const auto mean = rows.real(i, "mean");
        const auto high = rows.real(i, "mean_high");
        const auto relative = rows.real(i, "relative");
        answer.rows.push_back(
            {"`" + rows.text(i, "command") + "`",
             short_time(mean) + (mean && high ? " ± " + short_time(*high - *mean) : ""),
             short_time(rows.real(i, "median")), short_time(rows.real(i, "min")), short_time(rows.real(i, "max")),
             relative ? fmt::format("{:.2f} [{}, {}]", *relative, short_real(rows.real(i, "relative_low")),
                                    short_real(rows.real(i, "relative_high")))
                      : "1.00"});
    }
    return answer;
}

}  // namespace perfleet
