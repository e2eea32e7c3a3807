// Formats an answer as text table, JSON, CSV or Markdown.
//
// Bytes depend on the answer and the screen alone. Text in an answer comes from targets and may be any bytes: tables
// and CSV use printable(); JSON is valid UTF-8 (U+FFFD for other bytes) with control characters escaped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "exporters/report/screen.h"
#include "query-engine/statistic/answer/answer.h"
#include "schemas/text/utf8.h"

namespace perfleet {

enum class ReportFormat : std::uint8_t { kText, kJson, kCsv, kMarkdown };

// The table; text ends with the ledger. Only JSON contains the warnings: with other formats programs write them to
// standard error, and for CSV also ledger_note().
//
//   text  aligned columns, units beside the names, percentages and reals with two digits, "-" for null; of profiles the
//         numbers first and the names last. No wider than the screen (text_table() says how); with colours, headings
//         are bold, percentages from 5 on red, and those above 0.5 green, as in perf
//   json  {"columns":[{"name":…,"unit":…}],"rows":[[…]],"ledger":{"produced":n,"stored":n,"expired":n,
//         "lost":{"reason":n}},"warnings":[…]} and a newline; "pending":n, "of_cut_batches":n and "at_least":true in
//         the ledger when they aren't 0, and "parts":{"before":{…},"after":{…}} where the answer has parts; of profiles
//         "measure":{"event":…,"name":"amount","unit":"ns","total":n,"samples":n,"others":[…]}
//   csv   RFC 4180 with CRLF; the names of the columns first; null is an empty field; of profiles a last column with
//         the measure's unit. Text that a spreadsheet would
//         take for a formula begins with an apostrophe
//   markdown  a table with bars, cells as in text
[[nodiscard]] std::string format_report(const Answer& answer, ReportFormat format, const Screen& screen = {});

// The table alone, as text.
[[nodiscard]] std::string format_table(const Answer& answer, const Screen& screen = {});

// As text, transposed, for an answer of few rows and many figures: a line for each figure, a column for each row, as
// many as fit the screen (80 columns if it is unlimited). Text that all rows share is printed once above. Reals have
// two digits, rounded half up.
[[nodiscard]] std::string format_figures(const Answer& answer, const Screen& screen = {});

struct SessionTableStyle {
    Screen screen;
    std::span<const std::string_view> left_out;  // columns for programs, omitted
    std::span<const std::string_view> spared;    // columns to omit if a line is too long, the first one first
};

// As text, a table for each session, for an answer whose first columns are session and target. These are printed above
// each table, and so is the unit if there is only one. If no table is narrow enough, the answer is transposed.
[[nodiscard]] std::string format_sessions(const Answer& answer, const SessionTableStyle& style);

// As text, for the answer of `diff`: a table for each series below the mean's verdict; for profiles first what changed,
// then what didn't.
[[nodiscard]] std::string format_comparison(const Answer& answer, const Screen& screen = {});

// The last lines of an answer as text: its ledger, or one for each of its parts, and the unit in which it counts.
[[nodiscard]] std::string ledger_text(const Answer& answer, const Screen& screen);

// Lines to print beside a CSV table: ledgers with rows that aren't stored, or with cut batches; empty if there are
// none.
[[nodiscard]] std::string ledger_note(const Answer& answer);

// "1000 produced, all stored", "1000 produced = 990 stored + 10 lost (10 kernel_ring)".
[[nodiscard]] std::string ledger_line(const Ledger& ledger);

}  // namespace perfleet
