// Parts of the report that its formats share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exporters/report/screen.h"
#include "query-engine/statistic/answer/answer.h"

namespace perfleet {

// One value as a table for people has it, whole; one column's name with its unit.
[[nodiscard]] std::string text_cell(const AnswerColumn& column, const AnswerValue& value);
[[nodiscard]] std::string text_heading(const AnswerColumn& column);

// A table without the ledger. Where it is too wide for the screen, in this order: session ids and times are shortened
// and headings take two lines; names are cut in the middle; the columns that `spared` names are left out, the first one
// first.
struct TextTable {
    std::string text;
    bool is_whole = true;  // nothing is cut or left out
    bool has_fit = true;
    std::vector<std::string> left_out;
};
[[nodiscard]] TextTable text_table(const Answer& answer, const Screen& screen,
                                   std::span<const std::string_view> spared);

// Columns that any answer does without first.
[[nodiscard]] std::span<const std::string_view> spared_columns();

// "(left out for 80 columns: …; --wide shows all)" below an empty line, or nothing.
[[nodiscard]] std::string left_out_line(const std::vector<std::string>& names, const Screen& screen);

// Rows on their side, as format_figures() has them. Without the ledger.
[[nodiscard]] std::string text_figures(const Answer& answer, const Screen& screen);

// Whether session and target are the first columns, and sessions have several rows.
[[nodiscard]] bool has_rows_by_session(const Answer& answer);

// "1 row", "2 rows".
[[nodiscard]] std::string counted_noun(std::uint64_t count, const std::string& noun);

// Escape sequences for a terminal.
[[nodiscard]] std::string bold(std::string_view text, const Screen& screen);

}  // namespace perfleet
