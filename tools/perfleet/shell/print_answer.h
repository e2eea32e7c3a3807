// Prints an answer on standard output, and its warnings on standard error.
#pragma once

#include <string>
#include <string_view>

#include "daemon/option/program_options.h"
#include "exporters/report/screen.h"
#include "query-engine/statistic/answer/answer.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

struct OutputOptions {
    std::string format = "text";  // json, csv, markdown
    std::string color = "auto";   // always, never
    bool is_wide = false;
    bool has_no_pager = false;

    [[nodiscard]] bool is_text() const { return format == "text"; }
    // The layout for standard output.
    [[nodiscard]] Screen screen() const;
};

// The options --format, --color, --wide and --no-pager.
[[nodiscard]] std::vector<OptionRow> output_rows(OutputOptions& options);
[[nodiscard]] OptionRow no_pager_row(bool& has_no_pager);

// Writes to standard output immediately. Errors: kIo.
[[nodiscard]] Result<Done> print_text(std::string_view text);

// Prints text through the pager; on a terminal the warnings follow below. Otherwise warnings go to standard error,
// except those that are in the report (json); for CSV also ledger_note(). Errors: kIo.
[[nodiscard]] Result<Done> print_answer(const Answer& answer, const OutputOptions& options);

// The same with the command's own layout.
[[nodiscard]] Result<Done> print_answer(const Answer& answer, const std::string& report, const OutputOptions& options);

}  // namespace perfleet
