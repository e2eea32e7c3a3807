// Prints an answer: a table for people, one JSON object, or CSV.
//
// Bytes depend on the answer alone. Text in an answer comes from targets and may be any bytes: all get it as valid
// UTF-8 (invalid bytes become U+FFFD), tables and CSV without control characters, which JSON escapes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "query-engine/statistic/answer.h"

namespace perfleet {

enum class ReportFormat : std::uint8_t { kText, kJson, kCsv };

// The table, and for text last lines with the ledger and with the rollups that were used. The warnings are in the JSON
// object only: programs write them to their standard error for the others, and for CSV what ledger_note() says.
//
//   text  aligned columns, units beside the names, percentages and reals with two digits, "-" for null; what is longer
//         than 81 characters is cut in the middle
//   json  {"columns":[{"name":…,"unit":…}],"rows":[[…]],"ledger":{"produced":n,"stored":n,"expired":n,
//         "lost":{"reason":n}},"warnings":[…]} and a newline; "pending":n and "of_cut_batches":n in the ledger when
//         they aren't 0, and "parts":{"before":{…},"after":{…}} where the answer has parts; behind the warnings
//         "sources":{"rollups":n,"rollup_rows":n,"blocks":n} where it was counted from rollups
//   csv   RFC 4180 with CRLF; the names of the columns first; null is an empty field
[[nodiscard]] std::string format_report(const Answer& answer, ReportFormat format);

// For people, as text: an answer of few rows and many figures, turned on its side. A line a figure, a column a row, as
// many beside each other as `width_columns` holds; what is the same text for all of them stands above. Reals have two
// digits, rounded half up.
[[nodiscard]] std::string format_figures(const Answer& answer, std::size_t width_columns);

struct SessionTableStyle {
    std::size_t width_columns = 80;
    std::span<const std::string_view> left_out;  // columns for machines
    std::span<const std::string_view> spared;    // columns that go, the first one first, where a line is too long
};

// For people, as text: an answer whose first columns are session and target, as a table a session. Both stand above,
// and so does the unit where the table has but one. Where no table is narrow enough, it is turned on its side.
[[nodiscard]] std::string format_sessions(const Answer& answer, const SessionTableStyle& style);

// For people, as text: the answer of `diff`. A table a series with the mean's verdict above it; of profiles what
// changed, then what didn't. As wide as `width_columns`, but for what is the user's own: long names of events and
// labels.
[[nodiscard]] std::string format_comparison(const Answer& answer, std::size_t width_columns);

// Lines for beside a CSV table: the ledger, or those of its parts, of which not every row that was produced is stored,
// or that has cut batches; empty otherwise.
[[nodiscard]] std::string ledger_note(const Answer& answer);

// "1,000 produced = 990 stored + 10 lost (10 kernel_ring)".
[[nodiscard]] std::string ledger_line(const Ledger& ledger);

// A line for a terminal: valid UTF-8, `?` for control characters, which could move the cursor.
[[nodiscard]] std::string printable(std::string_view text_untrusted);

}  // namespace perfleet
