// Parts of the report that its formats share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "query-engine/statistic/answer.h"

namespace perfleet {

// The text with U+FFFD for each byte that isn't UTF-8.
[[nodiscard]] std::string valid_utf8(std::string_view text_untrusted);

// "1,234,567".
[[nodiscard]] std::string grouped_digits(std::uint64_t value);

// One value as a table for people has it; one column's name with its unit; columns that text takes on a terminal.
[[nodiscard]] std::string text_cell(const AnswerColumn& column, const AnswerValue& value);
[[nodiscard]] std::string text_heading(const AnswerColumn& column);
[[nodiscard]] std::size_t text_width(const std::string& text);

// A table; rows on their side, as format_figures() has them. Without the ledger.
[[nodiscard]] std::string text_table(const Answer& answer);
[[nodiscard]] std::string text_figures(const Answer& answer, std::size_t width_columns);
// The last lines of an answer as text: its ledger, or one for each of its parts.
[[nodiscard]] std::string ledger_text(const Answer& answer);
// What is longer is cut in the middle: a symbol's end tells as much as its beginning.
[[nodiscard]] std::string shortened(const std::string& text, std::size_t width_max);

}  // namespace perfleet
