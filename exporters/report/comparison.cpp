// Text about what changed between two selections.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "exporters/report/report.h"
#include "exporters/report/report_parts.h"
#include "schemas/text/layout.h"

namespace perfleet {
namespace {

constexpr std::size_t kUnchangedShownMax = 10;  // functions, of self and of children
constexpr std::string_view kNotShown = "no difference shown";
constexpr std::string_view kRanked = "median";  // a series' only figure: repetitions, compared by ranks
constexpr std::string_view kUnknown = "unknown: ";

// Rows whose columns are found by name.
class ComparisonRows {
public:
    explicit ComparisonRows(const Answer& answer) : answer_{answer} {
        for (std::size_t i = 0; i < answer.columns.size(); ++i) {
            columns_.emplace(answer.columns[i].name, i);
        }
    }

    [[nodiscard]] bool has(const std::string& name) const { return columns_.contains(name); }
    // Columns up to this one identify a row.
    [[nodiscard]] std::size_t identity_size() const { return columns_.at("figure"); }

    [[nodiscard]] const AnswerValue& value(std::size_t row, const std::string& name) const {
        return answer_.rows[row][columns_.at(name)];
    }
    [[nodiscard]] std::string text(std::size_t row, const std::string& name) const {
        const auto* text = std::get_if<std::string>(&value(row, name));
        return text == nullptr ? "" : printable(*text);
    }
    [[nodiscard]] std::optional<double> real(std::size_t row, const std::string& name) const {
        const auto* number = std::get_if<double>(&value(row, name));
        return number == nullptr ? std::nullopt : std::optional{*number};
    }
    // The text of a table cell; empty without a value.
    [[nodiscard]] std::string cell(std::size_t row, const std::string& name) const {
        const AnswerValue& one = value(row, name);
        return std::holds_alternative<std::monostate>(one) ? "" : text_cell(answer_.columns[columns_.at(name)], one);
    }

private:
    const Answer& answer_;
    std::map<std::string, std::size_t> columns_;
};

// Without decimals from 100 on, where they have no meaning.
std::string with_sign(std::string number) {
    constexpr std::size_t kDigitsWithDecimals = 3;
    if (const std::size_t point = number.find('.');
        point != std::string::npos && point >= kDigitsWithDecimals + (number.starts_with('-') ? 1 : 0)) {
        number.erase(point, number.find_first_not_of("0123456789", point + 1) - point);
    }
    return number.empty() || number.starts_with('-') ? number : "+" + number;
}

// The verdict in one word, for a table that has the figures.
std::string shown(const ComparisonRows& rows, std::size_t row) {
    const std::string verdict = rows.text(row, "verdict");
    return verdict.starts_with(kNotShown)   ? "no"
           : verdict.starts_with("too few") ? "too few"
                                            : verdict.substr(0, verdict.find_first_of(" :"));
}

std::string detected(const ComparisonRows& rows, std::size_t row) {
    const auto detectable = rows.real(row, "detectable");
    return detectable ? fmt::format("{:.{}f}%", *detectable, *detectable < 1 ? 2 : 1) : "";
}

// Numbers this large need no decimals.
std::string measured(const ComparisonRows& rows, std::size_t row, const std::string& name) {
    const auto number = rows.real(row, name);
    return number && *number >= 1e5 && *number < 1e18 ? std::to_string(std::llround(*number)) : rows.cell(row, name);
}

std::size_t widest_line(std::string_view text) {
    std::size_t width = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size() - 1);
        width = std::max(width, text_width(text.substr(0, end)));
        text.remove_prefix(end + 1);
    }
    return width;
}

constexpr const char* kLegendOfRanks =
    "before, after: medians; change, low, high: of the ratios of all pairs; p: Mann and Whitney's\n"
    "low, high, adjusted: of all lines together\n";

class LatencyText {
public:
    LatencyText(const Answer& answer, const ComparisonRows& rows, const Screen& screen)
        : answer_{answer}, rows_{rows}, screen_{screen} {}

    std::string text() {
        std::vector<std::size_t> means;
        std::vector<std::size_t> medians;
        for (std::size_t first = 0; first < answer_.rows.size();) {
            std::size_t last = first + 1;
            while (last < answer_.rows.size() && is_same(first, last)) {
                ++last;
            }
            const std::string figure = rows_.text(first, "figure");
            if (last == first + 1 && (figure == "mean" || figure == kRanked)) {
                (figure == kRanked ? medians : means).push_back(first);
            } else {
                add_series(first, last);
            }
            first = last;
        }
        has_ranks_alone_ = means.empty() && text_.empty();
        return lines_table(std::move(means), false) + lines_table(std::move(medians), true) + std::move(text_);
    }

    // Whether all lines compare ranks.
    [[nodiscard]] bool has_ranks_alone() const { return has_ranks_alone_; }

private:
    [[nodiscard]] bool is_same(std::size_t a, std::size_t b) const {
        for (std::size_t i = 0; i < rows_.identity_size(); ++i) {
            if (answer_.rows[a][i] != answer_.rows[b][i]) {
                return false;
            }
        }
        return rows_.text(a, "unit") == rows_.text(b, "unit");
    }

    [[nodiscard]] std::string side(std::size_t row, const std::string& name) const {
        const std::string runs = rows_.cell(row, name + "_runs");
        const std::string values = rows_.cell(row, name + "_count");
        return grouped_for(values +
                               (runs == "1"      ? ""
                                : runs == values ? " runs"
                                                 : " in " + runs + " runs") +
                               " " + name,
                           screen_);
    }

    // Series with one figure, the mean or by ranks the median: a line each, times first.
    [[nodiscard]] std::string lines_table(std::vector<std::size_t> means, bool are_ranked) const {
        if (means.empty()) {
            return "";
        }
        std::stable_partition(means.begin(), means.end(),
                              [&](std::size_t row) { return rows_.text(row, "unit") == "ns"; });
        const bool are_alike = std::all_of(means.begin(), means.end(), [&](std::size_t row) {
            return side(row, "before") == side(means[0], "before") && side(row, "after") == side(means[0], "after");
        });
        std::vector<std::vector<std::string>> lines{{are_ranked ? "median of" : "mean of", "before", "after", "change",
                                                     "low", "high", are_ranked ? "adjusted" : "p",
                                                     are_ranked ? "p" : "detects", "shown"}};
        for (const std::size_t row : means) {
            lines.push_back({series_name(row) +
                                 (rows_.has("primary") && rows_.text(row, "primary") == "yes" ? " *" : "") +
                                 (are_alike ? "" : " (" + side(row, "before") + ", " + side(row, "after") + ")"),
                             scaled(row, "before"), scaled(row, "after"), with_sign(rows_.cell(row, "change")),
                             with_sign(rows_.cell(row, "change_low")), with_sign(rows_.cell(row, "change_high")),
                             probability(rows_.real(row, "p_adjusted")),
                             are_ranked ? probability(rows_.real(row, "p")) : detected(rows_, row), shown(rows_, row)});
        }
        return (are_alike ? side(means[0], "before") + ", " + side(means[0], "after") + "\n\n" : "") +
               fitted(std::move(lines));
    }

    // Drops the least important columns if the screen is too narrow for all.
    [[nodiscard]] std::string fitted(std::vector<std::vector<std::string>> lines) const {
        std::vector<std::string> left_out;
        const auto aligned_on = [&](const Screen& screen) { return aligned(lines, {0, lines[0].size() - 1}, screen); };
        for (const std::string_view name : {"detects", "p", "adjusted"}) {
            const std::string text = aligned_on({});
            const auto column = std::ranges::find(lines[0], name);
            if (widest_line(text) <= screen_.width_columns || column == lines[0].end()) {
                continue;
            }
            left_out.emplace_back(name);
            for (const auto at = column - lines[0].begin(); auto& line : lines) {
                line.erase(line.begin() + at);
            }
        }
        return aligned_on(screen_) + left_out_line(left_out, screen_);
    }

    // Nanoseconds in a unit that suits both sides; counts unchanged.
    [[nodiscard]] std::string scaled(std::size_t row, const std::string& name) const {
        const auto number = rows_.real(row, name);
        if (!number || rows_.text(row, "unit") != "ns") {
            return measured(rows_, row, name);
        }
        const double greater = std::max(rows_.real(row, "before").value_or(0), rows_.real(row, "after").value_or(0));
        return duration_text(*number, greater);
    }

    [[nodiscard]] std::string series_name(std::size_t row) const {
        std::string name;
        for (std::size_t i = 0; i < rows_.identity_size(); ++i) {
            const AnswerValue& value = answer_.rows[row][i];
            if (std::holds_alternative<std::monostate>(value)) {
                continue;
            }
            const std::string& column = answer_.columns[i].name;
            name += (name.empty() ? "" : " · ") + (column == "event" ? "" : column + " ") +
                    text_cell(answer_.columns[i], value);
        }
        return name;
    }

    void add_series(std::size_t first, std::size_t last) {
        text_ += (text_.empty() ? "" : "\n") +
                 wrapped(series_name(first) + " [" + rows_.text(first, "unit") + "]: " + side(first, "before") + ", " +
                             side(first, "after"),
                         screen_.width_columns, "  ") +
                 "\n";
        std::vector<std::vector<std::string>> lines{
            {"", "before", "after", "change", "low", "high", "p", "detects", "shown"}};
        std::size_t headline = first;
        std::string ranks;
        for (std::size_t row = first; row < last; ++row) {
            headline = is_news(row) && !is_news(headline) ? row : headline;
            if (rows_.text(row, "figure") == "shift") {
                ranks = rank_text(row);
                continue;
            }
            lines.push_back({rows_.text(row, "figure"), measured(rows_, row, "before"), measured(rows_, row, "after"),
                             with_sign(rows_.cell(row, "change")), with_sign(rows_.cell(row, "change_low")),
                             with_sign(rows_.cell(row, "change_high")), probability(rows_.real(row, "p_adjusted")),
                             detected(rows_, row), shown(rows_, row)});
        }
        if (has_verdict(headline)) {
            text_ += wrapped("  " + rows_.text(headline, "figure") + ": " + rows_.text(headline, "verdict"),
                             screen_.width_columns, "  ") +
                     "\n";
        }
        text_ += "\n" + fitted(std::move(lines)) + ranks;
    }

    [[nodiscard]] bool is_news(std::size_t row) const {
        const std::string verdict = rows_.text(row, "verdict");
        return has_verdict(row) && !verdict.starts_with(kNotShown) && !verdict.starts_with(kUnknown);
    }
    [[nodiscard]] bool has_verdict(std::size_t row) const {
        const std::string verdict = rows_.text(row, "verdict");
        return !verdict.empty() && !verdict.starts_with("too few");
    }

    [[nodiscard]] std::string interval(std::size_t row, const std::string& low, const std::string& high) const {
        const std::string text = rows_.cell(row, low);
        return text.empty() ? "" : " [" + text + ", " + rows_.cell(row, high) + "]";
    }

    [[nodiscard]] std::string rank_text(std::size_t row) const {
        const std::string p_value = probability(rows_.real(row, "p_adjusted"));
        return "  shift " + with_sign(rows_.cell(row, "difference")) +
               interval(row, "difference_low", "difference_high") + "\n  Cliff's delta " +
               with_sign(rows_.cell(row, "cliffs_delta")) + interval(row, "cliffs_delta_low", "cliffs_delta_high") +
               (p_value.empty() ? "" : ", p " + p_value) + ": " + shown(rows_, row) + "\n";
    }

    const Answer& answer_;
    const ComparisonRows& rows_;
    Screen screen_;
    std::string text_;
    bool has_ranks_alone_ = false;
};

class ProfileText {
public:
    ProfileText(const Answer& answer, const ComparisonRows& rows, const Screen& screen)
        : answer_{answer}, rows_{rows}, screen_{screen} {}

    std::string text() {
        if (answer_.rows.empty()) {
            return "";
        }
        if (const std::string before = rows_.cell(0, "before_samples"); !before.empty()) {
            text_ = grouped_for(fmt::format("{} samples before, {} after\n", before, rows_.cell(0, "after_samples")),
                                screen_);
        }
        for (const char* figure : {"self", "children"}) {
            add_figure(figure);
        }
        return text_.substr(text_.starts_with('\n') ? 1 : 0);
    }

private:
    void add_figure(const std::string& figure) {
        std::vector<std::size_t> news;
        std::vector<std::size_t> others;
        std::string unknown;
        for (std::size_t row = 0; row < answer_.rows.size(); ++row) {
            if (rows_.text(row, "figure") == figure) {
                const std::string verdict = rows_.text(row, "verdict");
                unknown = verdict.starts_with(kUnknown) ? verdict : unknown;
                (verdict.starts_with(kNotShown) || !unknown.empty() ? others : news).push_back(row);
            }
        }
        const std::string name = figure == "self" ? "self" : "with callees (children)";
        if (!news.empty()) {
            text_ += "\n" + name + ": changed\n" + table(news);
        }
        if (!others.empty()) {
            const std::size_t count = others.size();
            others.resize(std::min(count, kUnchangedShownMax));
            const std::string title = fmt::format(
                "{}: {}{}", name, unknown.empty() ? std::string{kNotShown} : unknown,
                count > others.size() ? fmt::format(", {} of {} (--format csv: all)", others.size(), count) : "");
            text_ += "\n" + wrapped(title, screen_.width_columns, "  ") + "\n" + table(others);
        }
    }

    std::string table(const std::vector<std::size_t>& chosen) {
        std::vector<std::vector<std::string>> lines{{"before", "after", "points", "low", "high", ""}};
        std::vector<std::string> names;
        for (const std::size_t row : chosen) {
            const auto percent = [&](const char* name) { return rows_.cell(row, name) + "%"; };
            lines.push_back({percent("before"), percent("after"), with_sign(rows_.cell(row, "difference")),
                             with_sign(rows_.cell(row, "difference_low")),
                             with_sign(rows_.cell(row, "difference_high")), ""});
            // A function without a symbol is shown as its image and an offset.
            const std::string symbol = rows_.text(row, "symbol");
            const std::string image = rows_.text(row, "image");
            names.push_back(symbol.starts_with(image) ? symbol : symbol + "  " + image);
        }
        // Names get the width that the figures don't need.
        std::size_t used = 0;
        for (std::size_t i = 0; i + 1 < lines[0].size(); ++i) {
            std::size_t widest = 0;
            for (const auto& line : lines) {
                widest = std::max(widest, text_width(line[i]));
            }
            used += widest + 2;
        }
        const std::size_t width = screen_.width_columns;
        const std::size_t rest = width > used + 2 + 20 ? width - used - 2 : 20;
        lines[0].back() = "symbol, image";
        for (std::size_t i = 0; i < names.size(); ++i) {
            lines[i + 1].back() = shortened(names[i], rest);
        }
        return aligned(lines, {5}, screen_);
    }

    const Answer& answer_;
    const ComparisonRows& rows_;
    Screen screen_;
    std::string text_;
};

}  // namespace

std::string format_comparison(const Answer& answer, const Screen& screen) {
    const ComparisonRows rows{answer};
    LatencyText latencies{answer, rows, screen};
    const std::string text = rows.has("symbol") ? ProfileText{answer, rows, screen}.text() : latencies.text();
    const bool has_verdicts = std::any_of(answer.rows.begin(), answer.rows.end(), [&](const auto& row) {
        return rows.real(static_cast<std::size_t>(&row - answer.rows.data()), "p").has_value();
    });
    const bool has_primary =
        rows.has("primary") && std::any_of(answer.rows.begin(), answer.rows.end(), [&](const auto& row) {
            return !rows.text(static_cast<std::size_t>(&row - answer.rows.data()), "primary").empty();
        });
    const std::string legend =
        !has_verdicts        ? ""
        : rows.has("symbol") ? "low, high: of all lines together\n"
        : latencies.has_ranks_alone()
            ? kLegendOfRanks
            : std::string{"low, high, p: of "} +
                  (has_primary ? "lines with * alone, of the others together\n" : "all lines together\n") +
                  (text.find("  detects") == std::string::npos
                       ? ""
                       : "detects: the smallest change shown in 80 of 100 such comparisons\n");
    // How many times as long it takes.
    std::string relative;
    for (std::size_t i = 0; has_primary && i < answer.rows.size(); ++i) {
        const auto [change, low, high] =
            std::tuple{rows.real(i, "change"), rows.real(i, "change_low"), rows.real(i, "change_high")};
        if (rows.text(i, "primary") == "yes" && rows.text(i, "figure") == "mean" && rows.text(i, "unit") == "ns" &&
            change && low && high) {
            relative += fmt::format("after takes {:.2f} [{:.2f}, {:.2f}] times as long as before ({})\n",
                                    1 + *change / 100, 1 + *low / 100, 1 + *high / 100, rows.text(i, "event"));
        }
    }
    return (text.empty() ? "nothing to compare\n" : text + "\n" + relative + legend) + ledger_text(answer, screen);
}

}  // namespace perfleet
