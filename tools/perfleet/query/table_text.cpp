#include "tools/perfleet/query/table_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "exporters/figure/heat_map_text.h"
#include "exporters/report/amount_text.h"
#include "exporters/report/report.h"
#include "query-engine/statistic/number/histogram.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kTextRowCountMax = 40;  // of top and lists of entries, unless --limit says otherwise
constexpr double kTextPercentMin = 1;           // of tree, unless --min-percent says otherwise

void limit_rows(OptionValues& values) { values.try_emplace("limit", kTextRowCountMax); }

std::optional<double> number_in(const AnswerValue& value) {
    const auto* const positive = std::get_if<std::uint64_t>(&value);
    const auto* const any = std::get_if<std::int64_t>(&value);
    return positive != nullptr ? std::optional{static_cast<double>(*positive)}
           : any != nullptr    ? std::optional{static_cast<double>(*any)}
                               : std::nullopt;
}

// Drops the columns of numbers of samples beside amounts; these are in a scale that people read.
std::string profile_text(Answer answer, const OptionValues&, const Screen& screen) {
    for (std::size_t i = answer.columns.size(); i-- > 0;) {
        if (answer.columns[i].name.ends_with("_samples")) {
            answer.columns.erase(answer.columns.begin() + static_cast<std::ptrdiff_t>(i));
            for (std::vector<AnswerValue>& row : answer.rows) {
                row.erase(row.begin() + static_cast<std::ptrdiff_t>(i));
            }
        }
    }
    const std::string unit = answer.measure ? answer.measure->unit : "";
    double greatest = 0;
    const auto for_each_amount = [&](const auto& visit) {
        for (std::size_t i = 0; i < answer.columns.size(); ++i) {
            for (std::vector<AnswerValue>& row : answer.rows) {
                if (const auto amount = number_in(row[i]); amount && !unit.empty() && answer.columns[i].unit == unit) {
                    visit(row[i], *amount);
                }
            }
        }
    };
    for_each_amount([&](const AnswerValue&, double amount) { greatest = std::max(greatest, std::abs(amount)); });
    const AmountScale scale = amount_scale(unit, greatest);
    if (scale.is_scaled()) {
        for_each_amount([&](AnswerValue& value, double amount) { value = amount / scale.worth; });
        for (AnswerColumn& column : answer.columns) {
            column.unit = column.unit == unit ? scale.unit : column.unit;
        }
    }
    return format_report(answer, ReportFormat::kText, screen);
}

// Indents each symbol of a tree by its depth, and drops the depth column.
std::string tree_text(Answer tree, const OptionValues& values, const Screen& screen) {
    tree.columns.erase(tree.columns.begin());
    for (std::vector<AnswerValue>& row : tree.rows) {
        const std::string indentation(2 * std::get<std::uint64_t>(row[0]), ' ');
        row[1] = indentation + std::get<std::string>(row[1]);
        row.erase(row.begin());
    }
    return profile_text(std::move(tree), values, screen);
}

std::uint64_t whole_number(const AnswerValue& value) { return std::get<std::uint64_t>(value); }

// The rows of a histogram as bars: powers of two and equal steps as funclatency draws them, or cumulative bars.
std::string bars(const Answer& answer, const std::string& kind, std::uint64_t width_cells, const Screen& screen) {
    if (answer.rows.empty()) {
        return format_report(answer, ReportFormat::kText, screen);
    }
    std::string text;
    if (kind == "log2") {
        Log2Histogram histogram;
        for (const auto& row : answer.rows) {
            histogram.add(whole_number(row[0]), whole_number(row[2]));
        }
        text = log2_bars(histogram, answer.columns[0].unit, width_cells);
    } else {
        const std::uint64_t low = whole_number(answer.rows[0][0]);
        const std::uint64_t width = whole_number(answer.rows[0][1]) - low + 1;
        const std::uint64_t count = whole_number(answer.rows.back()[3]);
        const auto is_rest = [&](const auto& row) { return whole_number(row[1]) - whole_number(row[0]) + 1 != width; };
        const bool has_rest = answer.rows.size() > 1 && is_rest(answer.rows.back());
        LinearHistogram histogram{low, width, answer.rows.size() - (has_rest ? 1 : 0)};
        for (const auto& row : answer.rows) {
            histogram.add(whole_number(row[0]), whole_number(row[2]));
        }
        const std::string& unit = answer.columns[0].unit;
        text = kind == "linear" ? linear_bars(histogram, unit, width_cells)
                                : cumulative_head(histogram, unit) + cumulative_bars(histogram, count);
        if (has_rest) {
            text += fmt::format("\nbeyond: up to {} {}\n", whole_number(answer.rows.back()[1]), unit);
        }
    }
    return text + "\n" + ledger_text(answer, screen);
}

std::string latency_text(Answer answer, const OptionValues& values, const Screen& screen) {
    if (values.contains("histogram")) {
        const auto width = values.find("bar-width");
        return bars(answer, text_option(values, "histogram"),
                    width == values.end() ? kBarWidth : std::get<std::uint64_t>(width->second), screen);
    }
    if (values.contains("heat-map")) {
        return heat_map_text(answer, screen) + "\n" + ledger_text(answer, screen);
    }
    return values.contains("table") ? format_report(answer, ReportFormat::kText, screen)
                                    : format_figures(answer, screen);
}

std::string subsecond_map(Answer answer, const OptionValues&, const Screen& screen) {
    return subsecond_text(answer, screen) + "\n" + ledger_text(answer, screen);
}

std::string kernel_entries_text(Answer answer, const OptionValues&, const Screen& screen) {
    if (!answer.columns.empty() && answer.columns.back().name == "kernel_share") {
        return format_figures(answer, screen);  // the summary
    }
    constexpr std::array<std::string_view, 2> kLeftOut{"syscall_id", "cap_type"};
    constexpr std::array<std::string_view, 5> kSpared{"sd", "fastpath", "image", "children_share", "children"};
    return format_sessions(answer, {screen, kLeftOut, kSpared});
}

void limit_entries(OptionValues& values) {
    const std::string table = text_option(values, "table");
    if (!table.empty() && table != "summary" && table != "durations") {
        limit_rows(values);
    }
}

std::string utilisation_text(Answer answer, const OptionValues&, const Screen& screen) {
    const bool has_one = std::all_of(answer.rows.begin(), answer.rows.end(), [](const auto& row) {
        return row.size() > 2 && row[2] == AnswerValue{std::uint64_t{1}};
    });
    constexpr std::array<std::string_view, 1> kLeftOut{"window"};
    constexpr std::array<std::string_view, 4> kSpared{"entries", "schedules", "kernel_cycles", "kernel_share"};
    return format_sessions(answer, {screen, std::span{kLeftOut}.first(has_one ? 1 : 0), kSpared});
}

std::string tracepoints_text(Answer answer, const OptionValues&, const Screen& screen) {
    if (answer.columns.front().name == "overhead") {
        // As in seL4's documentation: figures without their unit.
        for (AnswerColumn& column : answer.columns) {
            column.unit = column.unit == "percent" ? column.unit : "";
        }
        return format_report(answer, ReportFormat::kText, screen);
    }
    constexpr std::array<std::string_view, 2> kLeftOut{"first", "last"};
    constexpr std::array<std::string_view, 2> kSpared{"weight", "sd"};
    return format_sessions(answer, {screen, kLeftOut, kSpared});
}

constexpr std::array kTexts{
    TableText{.command = "top", .format = profile_text, .add_defaults = limit_rows, .is_report = true},
    TableText{"tree", tree_text, [](OptionValues& values) { values.try_emplace("min-percent", kTextPercentMin); }},
    TableText{.command = "latency", .format = latency_text, .measures = true},
    TableText{"subsecond", subsecond_map},
    TableText{"kernel-entries", kernel_entries_text, limit_entries},
    TableText{"utilisation", utilisation_text},
    TableText{"tracepoints", tracepoints_text},
    TableText{.command = "annotate", .has_own_command = true},
    TableText{.command = "diff", .has_own_command = true},
    TableText{.command = "symbols", .has_list = true},
    TableText{.command = "sessions", .has_list = true},
};
constexpr TableText kPlainTable;

}  // namespace

const TableText& table_text_of(std::string_view command) {
    const auto* const found =
        std::find_if(kTexts.begin(), kTexts.end(), [&](const TableText& text) { return text.command == command; });
    return found == kTexts.end() ? kPlainTable : *found;
}

std::string text_option(const OptionValues& values, const std::string& name) {
    const auto value = values.find(name);
    const auto* const text = value == values.end() ? nullptr : std::get_if<std::string>(&value->second);
    return text == nullptr ? "" : *text;
}

}  // namespace perfleet
