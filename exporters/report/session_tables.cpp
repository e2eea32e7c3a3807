// A table a session: what the rows of a session share stands above them.
#include <algorithm>
#include <set>

#include "exporters/report/report.h"
#include "exporters/report/report_parts.h"

namespace perfleet {
namespace {

constexpr std::size_t kIdentityColumns = 2;  // session, target

// The one unit that columns have beside percent, if they have one in common.
std::string common_unit(const std::vector<AnswerColumn>& columns) {
    std::set<std::string> units;
    for (const AnswerColumn& column : columns) {
        if (!column.unit.empty() && column.unit != "percent" && column.unit != column.name) {
            units.insert(column.unit);
        }
    }
    return units.size() == 1 ? *units.begin() : "";
}

bool is_named(std::span<const std::string_view> names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

// The rows from `first` to `last`, and of them the columns from `first_column` on that aren't left out.
Answer part_of(const Answer& answer, std::size_t first, std::size_t last, std::size_t first_column,
               std::span<const std::string_view> left_out, std::span<const std::string_view> spared) {
    Answer part;
    part.rows.resize(last - first);
    for (std::size_t i = first_column; i < answer.columns.size(); ++i) {
        if (is_named(left_out, answer.columns[i].name) || is_named(spared, answer.columns[i].name)) {
            continue;
        }
        part.columns.push_back(answer.columns[i]);
        for (std::size_t row = first; row < last; ++row) {
            part.rows[row - first].push_back(answer.rows[row][i]);
        }
    }
    return part;
}

std::size_t widest_line(const std::string& text) {
    std::size_t widest = 0;
    for (std::size_t start = 0; start < text.size();) {
        const std::size_t end = std::min(text.find('\n', start), text.size());
        widest = std::max(widest, text_width(text.substr(start, end - start)));
        start = end + 1;
    }
    return widest;
}

bool is_of_sessions(const Answer& answer) {
    return answer.columns.size() > kIdentityColumns && answer.columns[0].name == "session" &&
           answer.columns[1].name == "target" && !answer.rows.empty();
}

// One session's rows.
std::string session_table(const Answer& answer, std::size_t first, std::size_t last, const SessionTableStyle& style) {
    for (std::size_t spared = 0; spared <= style.spared.size(); ++spared) {
        Answer part = part_of(answer, first, last, kIdentityColumns, style.left_out, style.spared.first(spared));
        const std::string unit = common_unit(part.columns);
        for (AnswerColumn& column : part.columns) {
            column.unit = column.unit == unit || column.unit == column.name ? "" : column.unit;
        }
        const std::string table = text_table(part);
        if (widest_line(table) <= style.width_columns) {
            return "session " + text_cell(answer.columns[0], answer.rows[first][0]) + " · target " +
                   text_cell(answer.columns[1], answer.rows[first][1]) +
                   (unit.empty() ? "" : " · in " + printable(unit)) + "\n\n" + table;
        }
    }
    return text_figures(part_of(answer, first, last, 0, style.left_out, {}), style.width_columns);
}

}  // namespace

std::string format_sessions(const Answer& answer, const SessionTableStyle& style) {
    if (!is_of_sessions(answer)) {
        return format_report(answer, ReportFormat::kText);
    }
    std::string text;
    for (std::size_t first = 0; first < answer.rows.size();) {
        std::size_t last = first + 1;
        while (last < answer.rows.size() && answer.rows[last][0] == answer.rows[first][0] &&
               answer.rows[last][1] == answer.rows[first][1]) {
            ++last;
        }
        text += (text.empty() ? "" : "\n") + session_table(answer, first, last, style);
        first = last;
    }
    return text + "\nrows: " + ledger_line(answer.ledger) + "\n";
}

}  // namespace perfleet
