#include "tools/perfleet/print_answer.h"

#include <cerrno>
#include <cstdio>

#include "exporters/report/report.h"

namespace perfleet {

void add_format_option(CLI::App& command, std::string& format) {
    command.add_option("--format", format, "text, json or csv")
        ->check(CLI::IsMember({"text", "json", "csv"}))
        ->type_name("FORMAT");
}

Result<Done> print_text(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
        return error_from_errno(errno, "standard output");
    }
    return Done{};
}

Result<Done> print_answer(const Answer& answer, const std::string& format) {
    const ReportFormat report_format = format == "json"  ? ReportFormat::kJson
                                       : format == "csv" ? ReportFormat::kCsv
                                                         : ReportFormat::kText;
    if (auto printed = print_text(format_report(answer, report_format)); !printed.ok()) {
        return printed;
    }
    if (report_format != ReportFormat::kJson) {
        for (const std::string& warning : answer.warnings) {
            std::fprintf(stderr, "perfleet: warning: %s\n", printable(warning).c_str());
        }
    }
    return Done{};
}

}  // namespace perfleet
