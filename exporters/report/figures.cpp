// Few rows of many figures, transposed.
#include <algorithm>
#include <vector>

#include "exporters/report/report.h"
#include "exporters/report/report_parts.h"
#include "schemas/text/layout.h"

namespace perfleet {
namespace {

constexpr std::size_t kPageColumns = 80;  // of a page, if the screen has no limit

bool is_text_in(const Answer& answer, std::size_t column) {
    return std::any_of(answer.rows.begin(), answer.rows.end(), [&](const std::vector<AnswerValue>& row) {
        return std::holds_alternative<std::string>(row[column]);
    });
}

// Text columns that only say whose figures these are: rows that differ in them don't stand side by side.
std::vector<std::size_t> identity_columns(const Answer& answer) {
    std::vector<std::size_t> columns;
    for (std::size_t i = 0; i < answer.columns.size() && is_text_in(answer, i); ++i) {
        columns.push_back(i);
    }
    return columns;
}

bool is_same(const std::vector<AnswerValue>& a, const std::vector<AnswerValue>& b,
             const std::vector<std::size_t>& columns) {
    return std::all_of(columns.begin(), columns.end(), [&](std::size_t column) { return a[column] == b[column]; });
}

class Figures {
public:
    Figures(const Answer& answer, const Screen& screen)
        : answer_{answer},
          width_{screen.is_limited() ? screen.width_columns : kPageColumns},
          groups_digits_{screen.groups_digits},
          identity_{identity_columns(answer)} {
        for (std::size_t i = identity_.size(); i < answer.columns.size(); ++i) {
            label_width_ = std::max(label_width_, text_width(text_heading(answer.columns[i])));
        }
    }

    std::string text() {
        for (std::size_t first = 0; first < answer_.rows.size();) {
            std::size_t last = first + 1;
            while (last < answer_.rows.size() && is_same(answer_.rows[first], answer_.rows[last], identity_)) {
                ++last;
            }
            add_group(first, last);
            first = last;
        }
        return std::move(text_);
    }

private:
    void add_group(std::size_t first, std::size_t last) {
        text_ += text_.empty() ? "" : "\n";
        std::string line;
        for (const std::size_t column : identity_) {
            const AnswerValue& value = answer_.rows[first][column];
            if (std::holds_alternative<std::monostate>(value)) {
                continue;
            }
            const std::string part =
                shortened(answer_.columns[column].name + " " + text_cell(answer_.columns[column], value), width_);
            if (!line.empty() && text_width(line) + 3 + text_width(part) > width_) {
                text_ += line + "\n";
                line.clear();
            }
            line += (line.empty() ? "" : " · ") + part;
        }
        text_ += line.empty() ? "" : line + "\n";
        while (first < last) {
            std::size_t used = label_width_;
            std::size_t end = first;
            while (end < last && (end == first || used + 2 + row_width(end) <= width_)) {
                used += 2 + row_width(end);
                ++end;
            }
            text_ += "\n";
            add_block(first, end);
            first = end;
        }
    }

    [[nodiscard]] std::string value_text(std::size_t column, std::size_t row) const {
        const AnswerValue& value = answer_.rows[row][column];
        const std::string text = text_cell(answer_.columns[column], value);
        return groups_digits_ && !std::holds_alternative<std::string>(value) ? with_grouped_digits(text) : text;
    }

    [[nodiscard]] std::size_t row_width(std::size_t row) const {
        std::size_t width = 0;
        for (std::size_t i = identity_.size(); i < answer_.columns.size(); ++i) {
            width = std::max(width, text_width(value_text(i, row)));
        }
        return width;
    }

    void add_block(std::size_t first, std::size_t last) {
        for (std::size_t i = identity_.size(); i < answer_.columns.size(); ++i) {
            const bool is_left_out =
                std::all_of(answer_.rows.begin() + static_cast<std::ptrdiff_t>(first),
                            answer_.rows.begin() + static_cast<std::ptrdiff_t>(last), [&](const auto& row) {
                                return answer_.columns[i].is_optional ? is_null_or_0(row[i])
                                                                      : std::holds_alternative<std::monostate>(row[i]);
                            });
            if (is_left_out) {
                continue;
            }
            std::string line = text_heading(answer_.columns[i]);
            line.append(label_width_ - text_width(line), ' ');
            for (std::size_t row = first; row < last; ++row) {
                const std::string value = value_text(i, row);
                line += "  " + std::string(row_width(row) - text_width(value), ' ') + value;
            }
            text_ += line + "\n";
        }
    }

    const Answer& answer_;
    std::size_t width_;
    bool groups_digits_;
    std::vector<std::size_t> identity_;
    std::size_t label_width_ = 0;
    std::string text_;
};

}  // namespace

std::string text_figures(const Answer& answer, const Screen& screen) { return Figures{answer, screen}.text(); }

std::string format_figures(const Answer& answer, const Screen& screen) {
    return text_figures(answer, screen) + "\n" + ledger_text(answer, screen);
}

}  // namespace perfleet
