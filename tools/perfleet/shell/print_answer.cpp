#include "tools/perfleet/shell/print_answer.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <sstream>

#include "daemon/option/program_options.h"
#include "exporters/report/report.h"
#include "schemas/text/layout.h"
#include "tools/perfleet/shell/pager.h"
#include "tools/perfleet/shell/terminal.h"

namespace perfleet {
namespace {

std::string warning_lines(const std::vector<std::string>& warnings, const Screen& screen) {
    std::string lines;
    for (const std::string& warning : warnings) {
        lines += wrapped("perfleet: warning: " + printable(warning), screen.width_columns, "  ") + "\n";
    }
    return lines;
}

}  // namespace

Screen OutputOptions::screen() const { return screen_of(STDOUT_FILENO, color, is_wide); }

std::vector<OptionRow> output_rows(OutputOptions& options) {
    return {{"--format FORMAT", options.format, "text, json, csv or markdown",
             is_one_of({"text", "json", "csv", "markdown"})},
            {"--color WHEN", options.color, "colors: auto (on a terminal, unless NO_COLOR is set), always or never",
             is_one_of({"auto", "always", "never"})},
            {"--wide", options.is_wide, "whole names and all columns, even if wider than the terminal"},
            no_pager_row(options.has_no_pager)};
}

OptionRow no_pager_row(bool& has_no_pager) {
    return {"--no-pager", has_no_pager, "don't show the output in a pager ($PERFLEET_PAGER, $PAGER, less)"};
}

Result<Done> print_text(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
        return error_from_errno(errno, "standard output");
    }
    return Done{};
}

Result<Done> print_answer(const Answer& answer, const std::string& report, const OutputOptions& options) {
    const bool is_on_one_screen = ::isatty(STDOUT_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1 && options.is_text();
    const std::string text = report + (is_on_one_screen ? warning_lines(answer.warnings, options.screen()) : "");
    if (auto printed = options.has_no_pager || !options.is_text() ? print_text(text) : print_paged(text);
        !printed.ok()) {
        return printed;
    }
    if (options.format == "csv") {
        std::istringstream lines{ledger_note(answer)};
        for (std::string line; std::getline(lines, line);) {
            print_note(line);
        }
    }
    if (options.format != "json" && !is_on_one_screen) {
        std::for_each(answer.warnings.begin(), answer.warnings.end(), print_warning);
    }
    return Done{};
}

Result<Done> print_answer(const Answer& answer, const OutputOptions& options) {
    const ReportFormat format = options.format == "json"       ? ReportFormat::kJson
                                : options.format == "csv"      ? ReportFormat::kCsv
                                : options.format == "markdown" ? ReportFormat::kMarkdown
                                                               : ReportFormat::kText;
    return print_answer(answer, format_report(answer, format, options.screen()), options);
}

}  // namespace perfleet
