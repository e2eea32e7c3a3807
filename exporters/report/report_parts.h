// Parts that the report's formats share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exporters/report/screen.h"
#include "query-engine/statistic/answer/answer.h"

namespace perfleet {

// A value as in a text table, uncut; a column's name with its unit.
[[nodiscard]] std::string text_cell(const AnswerColumn& column, const AnswerValue& value);
[[nodiscard]] std::string text_heading(const AnswerColumn& column);

[[nodiscard]] bool is_null_or_0(const AnswerValue& value);

// A table without the ledger. If it is too wide for the screen, these steps are applied in order: shorten session ids
// and times and use two lines of headings; cut names in the middle; omit the columns in `spared`, the first one first.
struct TextTable {
    std::string text;
    bool is_whole = true;  // nothing is cut or omitted
    bool has_fit = true;
    std::vector<std::string> left_out;
};
[[nodiscard]] TextTable text_table(const Answer& answer, const Screen& screen,
                                   std::span<const std::string_view> spared);

// The columns that any answer omits first.
[[nodiscard]] std::span<const std::string_view> spared_columns();

// "(left out for 80 columns: …; --wide shows all)" below an empty line, or nothing.
[[nodiscard]] std::string left_out_line(const std::vector<std::string>& names, const Screen& screen);

// The transposed table of format_figures(), without the ledger.
[[nodiscard]] std::string text_figures(const Answer& answer, const Screen& screen);

// Aligns lines of cells; the first is the heading, the columns in `left` are left-aligned.
[[nodiscard]] std::string aligned(const std::vector<std::vector<std::string>>& lines, const std::set<std::size_t>& left,
                                  const Screen& screen);
// "0.0123", "<0.0001"; empty without one.
[[nodiscard]] std::string probability(const std::optional<double>& p_value);
// "12.345 ms", in the unit that suits the greatest of those beside it.
[[nodiscard]] std::string duration_text(double value_ns, double greatest_ns);

// Whether session and target are the first columns, and sessions have several rows.
[[nodiscard]] bool has_rows_by_session(const Answer& answer);

// with_grouped_digits() where the screen is for people.
[[nodiscard]] std::string grouped_for(std::string_view text, const Screen& screen);

// Escape sequences for a terminal.
[[nodiscard]] std::string bold(std::string_view text, const Screen& screen);

}  // namespace perfleet
