// Aligned columns. Numbers stand to the right, text to the left; the last text column isn't padded.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include "exporters/report/report.h"
#include "exporters/report/report_parts.h"

namespace perfleet {
namespace {

constexpr std::size_t kTextWidthMax = 81;  // code points

bool is_empty(const AnswerValue& value) {
    if (const auto* number = std::get_if<std::uint64_t>(&value)) {
        return *number == 0;
    }
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
        return *number == 0;
    }
    return std::holds_alternative<std::monostate>(value);
}

bool is_text(const AnswerValue& value) { return std::holds_alternative<std::string>(value); }

// What one value takes on a terminal, near enough: one column a code point.
std::size_t width_of(const std::string& text) {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

// Rounded half up as papers do: the shortest decimal that means this number is what is rounded, so that 4.805 is 4.81
// though the nearest double lies below it.
std::string with_digits(double value, std::size_t digits) {
    std::array<char, 1'100> shortest{};
    const auto end =
        std::to_chars(shortest.data(), shortest.data() + shortest.size(), std::abs(value), std::chars_format::fixed);
    std::string text{shortest.data(), end.ptr};
    if (!std::isfinite(value)) {
        return value < 0 ? "-" + text : text;
    }
    if (text.find('.') == std::string::npos) {
        text += '.';
    }
    const std::size_t size = text.find('.') + 1 + digits;
    text.resize(std::max(text.size(), size + 1), '0');
    bool carries = text[size] >= '5';
    text.resize(size);
    for (std::size_t i = text.size(); i > 0 && carries; --i) {
        if (text[i - 1] != '.') {
            carries = text[i - 1] == '9';
            text[i - 1] = static_cast<char>(carries ? '0' : text[i - 1] + 1);
        }
    }
    text.insert(0, carries ? "1" : "");
    return value < 0 && text.find_first_not_of("0.") != std::string::npos ? "-" + text : text;
}

// Two digits; three that say something where two would show nothing but zeros, except of percentages.
std::string real_text(double value, const std::string& unit) {
    constexpr double kRoundsToZero = 0.005;
    std::size_t digits = 2;
    if (unit != "percent" && value != 0 && std::abs(value) < kRoundsToZero && std::isfinite(value)) {
        for (double scaled = std::abs(value); scaled < 0.1 && digits < 320; scaled *= 10) {
            ++digits;
        }
        ++digits;
    }
    return with_digits(value, digits);
}

std::string cell(const AnswerColumn& column, const AnswerValue& value) {
    if (const auto* text = std::get_if<std::string>(&value)) {
        return shortened(printable(*text), kTextWidthMax);
    }
    if (const auto* number = std::get_if<std::uint64_t>(&value)) {
        return grouped_digits(*number);
    }
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
        return std::to_string(*number);
    }
    if (const auto* number = std::get_if<double>(&value)) {
        return real_text(*number, column.unit) + (column.unit == "percent" ? "%" : "");
    }
    return "-";
}

std::string heading(const AnswerColumn& column) {
    if (column.unit.empty() || column.unit == "percent" || column.name.ends_with("_" + column.unit)) {
        return column.name;
    }
    return column.name + " [" + printable(column.unit) + "]";
}

struct PrintedColumn {
    std::vector<std::string> cells;  // heading first
    std::size_t width = 0;
    bool is_left = false;
};

}  // namespace

std::string grouped_digits(std::uint64_t value) {
    std::string text = std::to_string(value);
    for (std::size_t end = text.size(); end > 3; end -= 3) {
        text.insert(end - 3, ",");
    }
    return text;
}

std::string text_cell(const AnswerColumn& column, const AnswerValue& value) { return cell(column, value); }
std::string text_heading(const AnswerColumn& column) { return heading(column); }
std::size_t text_width(const std::string& text) { return width_of(text); }

std::string shortened(const std::string& text, std::size_t width_max) {
    if (width_of(text) <= width_max) {
        return text;
    }
    const auto code_points_before = [&](std::size_t count) {
        std::size_t i = 0;
        for (; i < text.size(); ++i) {
            const bool is_start = (static_cast<unsigned char>(text[i]) & 0xc0U) != 0x80U;
            if (is_start && count-- == 0) {
                break;
            }
        }
        return i;
    };
    const std::size_t kept = (width_max - 1) / 2;
    return text.substr(0, code_points_before(kept)) + "…" + text.substr(code_points_before(width_of(text) - kept));
}

std::string text_table(const Answer& answer) {
    std::vector<PrintedColumn> columns;
    for (std::size_t i = 0; i < answer.columns.size(); ++i) {
        const auto in_column = [&](bool (*test)(const AnswerValue&)) {
            return std::count_if(answer.rows.begin(), answer.rows.end(),
                                 [&](const std::vector<AnswerValue>& row) { return test(row[i]); });
        };
        const auto row_count = static_cast<std::ptrdiff_t>(answer.rows.size());
        const AnswerColumn& column = answer.columns[i];
        const bool is_null =
            row_count != 0 && std::all_of(answer.rows.begin(), answer.rows.end(), [&](const auto& row) {
                return std::holds_alternative<std::monostate>(row[i]);
            });
        if (is_null || (column.is_optional && in_column(is_empty) == row_count)) {
            continue;
        }
        PrintedColumn printed;
        printed.is_left = in_column(is_text) != 0 || row_count == 0;
        printed.cells.push_back(heading(column));
        for (const std::vector<AnswerValue>& row : answer.rows) {
            printed.cells.push_back(cell(column, row[i]));
        }
        for (const std::string& text : printed.cells) {
            printed.width = std::max(printed.width, width_of(text));
        }
        columns.push_back(std::move(printed));
    }
    std::string table;
    for (std::size_t line = 0; line <= answer.rows.size(); ++line) {
        std::string text;
        for (const PrintedColumn& column : columns) {
            const std::string& value = column.cells[line];
            const std::string padding(column.width - width_of(value), ' ');
            text += (text.empty() && &column == &columns.front() ? "" : "  ");
            text += column.is_left ? value + padding : padding + value;
        }
        text.erase(text.find_last_not_of(' ') + 1);
        table += text + "\n";
    }
    return table;
}

}  // namespace perfleet
