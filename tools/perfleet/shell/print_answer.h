// An answer on standard output; its warnings on standard error.
#pragma once

#include <string>
#include <string_view>

#include "daemon/option/program_options.h"
#include "exporters/report/screen.h"
#include "query-engine/statistic/answer/answer.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

struct OutputOptions {
    std::string format = "text";  // json, csv
    std::string color = "auto";   // always, never
    bool is_wide = false;
    bool has_no_pager = false;

    [[nodiscard]] bool is_text() const { return format == "text"; }
    // What standard output is laid out for.
    [[nodiscard]] Screen screen() const;
};

// --format, --color, --wide and --no-pager.
[[nodiscard]] std::vector<OptionRow> output_rows(OutputOptions& options);
[[nodiscard]] OptionRow no_pager_row(bool& has_no_pager);

// On standard output, at once. Errors: kIo.
[[nodiscard]] Result<Done> print_text(std::string_view text);

// Text through the pager, on a terminal with the warnings below it; else the warnings go to standard error, unless they
// stand in the report (json), and beside CSV what ledger_note() says. Errors: kIo.
[[nodiscard]] Result<Done> print_answer(const Answer& answer, const OutputOptions& options);

// The same with a layout of the command's own.
[[nodiscard]] Result<Done> print_answer(const Answer& answer, const std::string& report, const OutputOptions& options);

}  // namespace perfleet
