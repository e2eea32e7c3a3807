// One table a session: values shared by all of a session's rows stand above it.
#include <algorithm>
#include <set>

#include "exporters/report/report.h"
#include "exporters/report/report_parts.h"
#include "schemas/text/layout.h"

namespace perfleet {
namespace {

constexpr std::size_t kIdentityColumns = 2;  // session, target

// The only unit that the columns have beside percent, if there is only one.
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

// Rows `first` to `last`, with the columns from `first_column` on that aren't left out.
Answer part_of(const Answer& answer, std::size_t first, std::size_t last, std::size_t first_column,
               std::span<const std::string_view> left_out) {
    Answer part;
    part.rows.resize(last - first);
    for (std::size_t i = first_column; i < answer.columns.size(); ++i) {
        if (is_named(left_out, answer.columns[i].name)) {
            continue;
        }
        part.columns.push_back(answer.columns[i]);
        for (std::size_t row = first; row < last; ++row) {
            part.rows[row - first].push_back(answer.rows[row][i]);
        }
    }
    return part;
}

bool is_of_sessions(const Answer& answer) {
    return answer.columns.size() > kIdentityColumns && answer.columns[0].name == "session" &&
           answer.columns[1].name == "target" && !answer.rows.empty();
}

// One session's rows.
std::string session_table(const Answer& answer, std::size_t first, std::size_t last, const SessionTableStyle& style,
                          std::vector<std::string>& left_out) {
    Answer part = part_of(answer, first, last, kIdentityColumns, style.left_out);
    const std::string unit = common_unit(part.columns);
    for (AnswerColumn& column : part.columns) {
        column.unit = column.unit == unit || column.unit == column.name ? "" : column.unit;
    }
    const TextTable table = text_table(part, style.screen, style.spared);
    if (!table.has_fit) {
        return text_figures(part_of(answer, first, last, 0, style.left_out), style.screen);
    }
    left_out.insert(left_out.end(), table.left_out.begin(), table.left_out.end());
    return wrapped("session " + text_cell(answer.columns[0], answer.rows[first][0]) + " · target " +
                       text_cell(answer.columns[1], answer.rows[first][1]) +
                       (unit.empty() ? "" : " · in " + printable(unit)),
                   style.screen.width_columns) +
           "\n\n" + table.text;
}

}  // namespace

bool has_rows_by_session(const Answer& answer) {
    std::set<std::string> sessions;
    for (const auto& row : answer.rows) {
        const auto* session = std::get_if<std::string>(row.data());
        sessions.insert(session == nullptr ? "" : *session);
    }
    return is_of_sessions(answer) && sessions.size() < answer.rows.size();
}

std::string format_sessions(const Answer& answer, const SessionTableStyle& style) {
    if (!is_of_sessions(answer)) {
        return format_report(answer, ReportFormat::kText, style.screen);
    }
    std::string text;
    std::vector<std::string> left_out;
    for (std::size_t first = 0; first < answer.rows.size();) {
        std::size_t last = first + 1;
        while (last < answer.rows.size() && answer.rows[last][0] == answer.rows[first][0] &&
               answer.rows[last][1] == answer.rows[first][1]) {
            ++last;
        }
        text += (text.empty() ? "" : "\n") + session_table(answer, first, last, style, left_out);
        first = last;
    }
    return text + left_out_line(left_out, style.screen) + "\n" + ledger_text(answer, style.screen);
}

}  // namespace perfleet
