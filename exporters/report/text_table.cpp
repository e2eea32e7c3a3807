// Aligned columns: numbers to the right, text to the left; the last text column isn't padded.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "exporters/report/report_parts.h"
#include "schemas/text/layout.h"
#include "schemas/text/utf8.h"

namespace perfleet {
namespace {

bool is_text(const AnswerValue& value) { return std::holds_alternative<std::string>(value); }

// Rounds half up, as papers do: rounds the shortest decimal of the number, so that 4.805 gives 4.81 although the
// nearest double lies below it.
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

// Two digits. Small values have three significant digits instead of zeros, except percentages; and 1.2e-14 instead of
// many zeros.
std::string real_text(double value, const std::string& unit) {
    constexpr double kRoundsToZero = 0.005;
    std::size_t digits = 2;
    if (unit != "percent" && value != 0 && std::abs(value) < kRoundsToZero && std::isfinite(value)) {
        for (double scaled = std::abs(value); scaled < 0.1 && digits < 320; scaled *= 10) {
            ++digits;
        }
        ++digits;
    }
    constexpr std::size_t kDigitsMax = 12;
    return digits > kDigitsMax ? fmt::format("{:.1e}", value) : with_digits(value, digits);
}

std::string cell(const AnswerColumn& column, const AnswerValue& value) {
    if (const auto* text = std::get_if<std::string>(&value)) {
        return printable(*text);
    }
    if (const auto* number = std::get_if<std::uint64_t>(&value)) {
        return std::to_string(*number);
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

constexpr double kHotPercent = 5.0;   // red, as in perf
constexpr double kWarmPercent = 0.5;  // green

constexpr std::size_t kNameWidthMin = 12;  // width of a shortened name, before another column is dropped
constexpr std::size_t kIdDigitsMin = 8;
constexpr std::string_view kSecondsEnd = "2026-01-31T12:00:00";

// Columns in the order in which they are dropped.
constexpr std::array<std::string_view, 15> kSpared{"version",         "batches",  "arch",   "end",
                                                   "first_seen",      "children", "self",   "total",
                                                   "labels",          "weight",   "target", "time_running_ns",
                                                   "time_enabled_ns", "command",  "image"};

// In a list of sessions labels are worth more: before them goes one of these whose cells are all alike, then the first.
constexpr std::array<std::string_view, 3> kSparedForLabels{"events", "target", "state"};

// Columns that are dropped if they equal another one in all rows.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kRepeats{{{"scaled", "value"},
                                                                                 {"time_running_ns", "time_enabled_ns"},
                                                                                 {"weight", "rows"},
                                                                                 {"children", "self"},
                                                                                 {"children_percent", "self_percent"}}};

// Name columns of a profile: placed after its numbers, the longest last.
constexpr std::array<std::string_view, 11> kProfileNames{"target",  "arch", "unit", "pod",   "container", "cgroup",
                                                         "command", "pid",  "tid",  "image", "symbol"};

struct PrintedColumn {
    std::string name;
    std::string title;                 // the name with its unit
    std::vector<std::string> heading;  // lines
    std::vector<std::string> cells;
    std::vector<double> percents;  // if the cells have any
    std::size_t width = 0;
    bool is_left = false;
    bool is_name = false;  // may be shortened
};

std::size_t widest(const std::vector<std::string>& texts) {
    std::size_t width = 0;
    for (const std::string& text : texts) {
        width = std::max(width, text_width(text));
    }
    return width;
}

void measure(PrintedColumn& column) { column.width = std::max(widest(column.heading), widest(column.cells)); }

std::optional<std::size_t> column_named(const Answer& answer, std::string_view name) {
    for (std::size_t i = 0; i < answer.columns.size(); ++i) {
        if (answer.columns[i].name == name) {
            return i;
        }
    }
    return std::nullopt;
}

bool is_repeat(const Answer& answer, std::size_t column) {
    return std::any_of(kRepeats.begin(), kRepeats.end(), [&](const auto& repeat) {
        const auto other = column_named(answer, repeat.second);
        return answer.columns[column].name == repeat.first && other && !answer.rows.empty() &&
               std::all_of(answer.rows.begin(), answer.rows.end(),
                           [&, at = *other](const auto& row) { return row[column] == row[at]; });
    });
}

bool is_shown(const Answer& answer, std::size_t column) {
    if (answer.rows.empty()) {
        return true;
    }
    const auto all = [&](auto test) {
        return std::all_of(answer.rows.begin(), answer.rows.end(), [&](const auto& row) { return test(row[column]); });
    };
    const bool is_null = all([](const AnswerValue& value) {
        const auto* text = std::get_if<std::string>(&value);
        return std::holds_alternative<std::monostate>(value) || (text != nullptr && text->empty());
    });
    return !is_null && !(answer.columns[column].is_optional && all(is_null_or_0)) && !is_repeat(answer, column);
}

// Of numbers that are no amounts.
bool is_identifier(const AnswerColumn& column) {
    constexpr std::array<std::string_view, 5> kIdentifiers{"cpu", "line", "uid", "seq", "port"};
    return column.name.ends_with("pid") || column.name.ends_with("tid") ||
           std::ranges::find(kIdentifiers, column.name) != kIdentifiers.end();
}

PrintedColumn printed(const Answer& answer, std::size_t index, bool groups_digits) {
    const AnswerColumn& column = answer.columns[index];
    groups_digits &= !is_identifier(column);
    PrintedColumn result;
    result.name = column.name;
    result.title = heading(column);
    result.heading.push_back(result.title);
    result.is_left = answer.rows.empty();
    for (const std::vector<AnswerValue>& row : answer.rows) {
        result.is_left = result.is_left || is_text(row[index]);
        const bool is_grouped = groups_digits && !is_text(row[index]);
        result.cells.push_back(is_grouped ? with_grouped_digits(cell(column, row[index])) : cell(column, row[index]));
        if (const auto* percent = std::get_if<double>(&row[index]); percent != nullptr && column.unit == "percent") {
            result.percents.resize(answer.rows.size());
            result.percents[result.cells.size() - 1] = *percent;
        }
    }
    result.is_name = result.is_left;
    measure(result);
    return result;
}

// Shortens ids to the digits that distinguish them.
void shorten_id(PrintedColumn& column) {
    const std::set<std::string> ids{column.cells.begin(), column.cells.end()};
    std::size_t digits = kIdDigitsMin;
    std::string_view last;
    for (const std::string& id : ids) {
        const auto common = std::mismatch(last.begin(), last.end(), id.begin(), id.end()).first - last.begin();
        digits = std::max(digits, static_cast<std::size_t>(common) + 1);
        last = id;
    }
    for (std::string& id : column.cells) {
        id.resize(std::min(id.size(), digits));
    }
    column.is_name = false;
}

// "2026-01-31T12:00:00.123456789Z"
bool is_time(const std::string& text) {
    const std::size_t point = kSecondsEnd.size();
    return text.size() > point && text[10] == 'T' && text.ends_with('Z') &&
           text.find_first_not_of(".0123456789", point) == text.size() - 1;
}

// Shortens times to seconds, and the kernel's image as in `perf top`.
void shorten_cells(PrintedColumn& column) {
    for (std::string& text : column.cells) {
        if (is_time(text)) {
            text = text.substr(0, kSecondsEnd.size()) + "Z";
            column.is_name = false;
        } else if (text == "[kernel.kallsyms]") {
            text = "[kernel]";
        }
    }
}

// Puts "self [samples]" and "self_percent" on two lines if the cells are narrower.
void split_heading(PrintedColumn& column) {
    const std::string& whole = column.heading.front();
    const std::size_t unit = whole.find(" [");
    const std::size_t at = unit != std::string::npos ? unit : whole.rfind('_');
    if (at != std::string::npos && at != 0 && at + 1 < whole.size() && text_width(whole) > widest(column.cells)) {
        column.heading = {whole.substr(0, at), whole.substr(at + 1)};
    }
}

class TableLayout {
public:
    TableLayout(const Answer& answer, const Screen& screen) : screen_{screen}, row_count_{answer.rows.size()} {
        for (std::size_t i = 0; i < answer.columns.size(); ++i) {
            if (is_shown(answer, i)) {
                columns_.push_back(printed(answer, i, screen_.groups_digits));
            }
        }
        const bool is_profile = column_named(answer, "symbol") || column_named(answer, "self_percent");
        if (is_profile) {
            const auto place = [](const PrintedColumn& column) {
                const auto* const name = std::find(kProfileNames.begin(), kProfileNames.end(), column.name);
                return name == kProfileNames.end() ? 0 : name - kProfileNames.begin() + 1;
            };
            std::stable_sort(columns_.begin(), columns_.end(),
                             [&](const PrintedColumn& a, const PrintedColumn& b) { return place(a) < place(b); });
        }
    }

    TextTable table(std::span<const std::string_view> spared) {
        TextTable result;
        if (width() > screen_.width_columns) {
            abbreviate();
        }
        while (width() > screen_.width_columns && !cut_names()) {
            const auto gone = next_of(spared);
            if (gone == columns_.end()) {
                result.has_fit = false;
                break;
            }
            result.left_out.push_back(gone->title);
            columns_.erase(gone);
        }
        result.is_whole = result.has_fit && result.left_out.empty() && !is_cut_;
        result.text = text();
        return result;
    }

private:
    using Columns = std::vector<PrintedColumn>;

    [[nodiscard]] std::size_t width() const {
        std::size_t sum = 2 * (columns_.size() - std::min<std::size_t>(columns_.size(), 1));
        for (const PrintedColumn& column : columns_) {
            sum += column.width;
        }
        return sum;
    }

    void abbreviate() {
        for (PrintedColumn& column : columns_) {
            if (column.name == "session" || column.name == "id") {
                shorten_id(column);
            }
            shorten_cells(column);
            split_heading(column);
            measure(column);
        }
    }

    [[nodiscard]] Columns::iterator next_of(std::span<const std::string_view> spared) {
        for (const std::string_view name : spared) {
            const auto column = find(name);
            if (column != columns_.end() && columns_.size() > 1) {
                return name == "labels" && find("command") != columns_.end() ? before_labels(column) : column;
            }
        }
        return columns_.end();
    }

    [[nodiscard]] Columns::iterator find(std::string_view name) {
        return std::find_if(columns_.begin(), columns_.end(),
                            [&](const PrintedColumn& one) { return one.name == name; });
    }

    [[nodiscard]] Columns::iterator before_labels(Columns::iterator labels) {
        for (const std::string_view name : kSparedForLabels) {
            const auto column = find(name);
            if (column != columns_.end() && std::set(column->cells.begin(), column->cells.end()).size() <= 1) {
                return column;
            }
        }
        const auto first = find(kSparedForLabels[0]);
        return first != columns_.end() ? first : labels;
    }

    // Divides the remaining width among names evenly, but gives a symbol more, and most in a tree; a short name leaves
    // its rest to others. False: the width isn't enough.
    bool cut_names() {
        const bool is_tree = std::any_of(columns_.begin(), columns_.end(),
                                         [](const PrintedColumn& column) { return column.name == "total_percent"; });
        const auto share = [&](const PrintedColumn& column) {
            return column.name != "symbol" ? 1U : is_tree ? 3U : 2U;
        };
        const auto width_with = [&](std::size_t cap) {
            std::size_t sum = width();
            for (const PrintedColumn& column : columns_) {
                if (column.is_name) {
                    sum -= column.width - std::min(column.width, std::max(cap * share(column), widest(column.heading)));
                }
            }
            return sum;
        };
        std::size_t cap = kNameWidthMin;
        if (width_with(cap) > screen_.width_columns) {
            return false;
        }
        while (width_with(cap + 1) <= screen_.width_columns) {
            ++cap;
        }
        for (PrintedColumn& column : columns_) {
            const std::size_t width = std::max(cap * share(column), widest(column.heading));
            if (column.is_name && column.width > width) {
                column.width = width;
                is_cut_ = true;
                for (std::string& text : column.cells) {
                    text = shortened(text, width);
                }
            }
        }
        return true;
    }

    [[nodiscard]] std::string text() const {
        std::size_t heading_lines = 1;
        for (const PrintedColumn& column : columns_) {
            heading_lines = std::max(heading_lines, column.heading.size());
        }
        std::string table;
        for (std::size_t line = 0; line < heading_lines; ++line) {
            table += bold(line_of([&](const PrintedColumn& column) {
                              const std::size_t empty = heading_lines - column.heading.size();
                              return line < empty ? "" : column.heading[line - empty];
                          }),
                          screen_) +
                     "\n";
        }
        for (std::size_t row = 0; row < row_count_; ++row) {
            table += line_of([&](const PrintedColumn& column) { return column.cells[row]; }, row) + "\n";
        }
        return table;
    }

    template <typename TextOf>
    [[nodiscard]] std::string line_of(const TextOf& text_of, std::size_t row = SIZE_MAX) const {
        std::string line;
        for (const PrintedColumn& column : columns_) {
            const std::string text = text_of(column);
            const std::string padding(column.width - text_width(text), ' ');
            line += &column == &columns_.front() ? "" : "  ";
            line += column.is_left ? coloured(column, row, text) + padding : padding + coloured(column, row, text);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        return line;
    }

    [[nodiscard]] std::string coloured(const PrintedColumn& column, std::size_t row, const std::string& text) const {
        if (!screen_.has_color || row >= column.percents.size() || column.percents[row] <= kWarmPercent) {
            return text;
        }
        return (column.percents[row] >= kHotPercent ? "\x1b[31m" : "\x1b[32m") + text + "\x1b[m";
    }

    Screen screen_;
    std::size_t row_count_;
    Columns columns_;
    bool is_cut_ = false;
};

}  // namespace

bool is_null_or_0(const AnswerValue& value) {
    if (const auto* number = std::get_if<std::uint64_t>(&value)) {
        return *number == 0;
    }
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
        return *number == 0;
    }
    if (const auto* number = std::get_if<double>(&value)) {
        return *number == 0;
    }
    return std::holds_alternative<std::monostate>(value);
}

std::string text_cell(const AnswerColumn& column, const AnswerValue& value) { return cell(column, value); }

std::string text_heading(const AnswerColumn& column) { return heading(column); }

std::string grouped_for(std::string_view text, const Screen& screen) {
    return screen.groups_digits ? with_grouped_digits(text) : std::string{text};
}

std::string bold(std::string_view text, const Screen& screen) {
    return screen.has_color && !text.empty() ? "\x1b[1m" + std::string{text} + "\x1b[m" : std::string{text};
}

std::span<const std::string_view> spared_columns() { return kSpared; }

std::string left_out_line(const std::vector<std::string>& names, const Screen& screen) {
    std::string list;
    std::set<std::string> listed;
    for (const std::string& name : names) {
        if (listed.insert(name).second) {
            list += (list.empty() ? "" : ", ") + name;
        }
    }
    return list.empty() ? ""
                        : wrapped("\n(left out for " + std::to_string(screen.width_columns) + " columns: " + list +
                                      "; " + std::string{screen.way_to_see_all} + " shows all)",
                                  screen.width_columns) +
                              "\n";
}

TextTable text_table(const Answer& answer, const Screen& screen, std::span<const std::string_view> spared) {
    return TableLayout{answer, screen}.table(spared);
}

}  // namespace perfleet
