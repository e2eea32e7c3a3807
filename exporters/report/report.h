// Prints an answer: a table for people, one JSON object, or CSV.
//
// Bytes depend on the answer and the screen alone. Text in an answer comes from targets and may be any bytes: tables
// and CSV have it as printable() gives it, JSON as valid UTF-8 (U+FFFD for other bytes) with control characters
// escaped.
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

enum class ReportFormat : std::uint8_t { kText, kJson, kCsv };

// The table, and for text last lines with the ledger. The warnings are in the JSON object only: programs write them to
// their standard error for the others, and for CSV what ledger_note() says.
//
//   text  aligned columns, units beside the names, percentages and reals with two digits, "-" for null; of profiles the
//         numbers first and the names last. No wider than the screen (text_table() says how); with colours, headings
//         are bold, percentages from 5 on red, and those above 0.5 green, as in perf
//   json  {"columns":[{"name":…,"unit":…}],"rows":[[…]],"ledger":{"produced":n,"stored":n,"expired":n,
//         "lost":{"reason":n}},"warnings":[…]} and a newline; "pending":n, "of_cut_batches":n and "at_least":true in
//         the ledger when they aren't 0, and "parts":{"before":{…},"after":{…}} where the answer has parts
//   csv   RFC 4180 with CRLF; the names of the columns first; null is an empty field. Text that a spreadsheet would
//         take for a formula begins with an apostrophe
[[nodiscard]] std::string format_report(const Answer& answer, ReportFormat format, const Screen& screen = {});

// The table alone, as text.
[[nodiscard]] std::string format_table(const Answer& answer, const Screen& screen = {});

// For people, as text: an answer of few rows and many figures, turned on its side. A line a figure, a column a row, as
// many beside each other as the screen holds (80 columns where that isn't limited); what is the same text for all of
// them stands above. Reals have two digits, rounded half up.
[[nodiscard]] std::string format_figures(const Answer& answer, const Screen& screen = {});

struct SessionTableStyle {
    Screen screen;
    std::span<const std::string_view> left_out;  // columns for machines
    std::span<const std::string_view> spared;    // columns that go, the first one first, where a line is too long
};

// For people, as text: an answer whose first columns are session and target, as a table a session. Both stand above,
// and so does the unit where the table has but one. Where no table is narrow enough, it is turned on its side.
[[nodiscard]] std::string format_sessions(const Answer& answer, const SessionTableStyle& style);

// For people, as text: the answer of `diff`. A table a series with the mean's verdict above it; of profiles what
// changed, then what didn't.
[[nodiscard]] std::string format_comparison(const Answer& answer, const Screen& screen = {});

// The last lines of an answer as text: its ledger, or one for each of its parts, and what it was counted from.
[[nodiscard]] std::string ledger_text(const Answer& answer, const Screen& screen);

// Lines for beside a CSV table: the ledger, or those of its parts, of which not every row that was produced is stored,
// or that has cut batches; empty otherwise.
[[nodiscard]] std::string ledger_note(const Answer& answer);

// "1000 produced, all stored", "1000 produced = 990 stored + 10 lost (10 kernel_ring)".
[[nodiscard]] std::string ledger_line(const Ledger& ledger);

}  // namespace perfleet
