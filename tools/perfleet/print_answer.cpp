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

Result<Done> print_answer(const Answer& answer, const std::string& format) {
    const ReportFormat report_format = format == "json"  ? ReportFormat::kJson
                                       : format == "csv" ? ReportFormat::kCsv
                                                         : ReportFormat::kText;
    const std::string report = format_report(answer, report_format);
    if (std::fwrite(report.data(), 1, report.size(), stdout) != report.size() || std::fflush(stdout) != 0) {
        return error_from_errno(errno, "standard output");
    }
    if (report_format != ReportFormat::kJson) {
        for (const std::string& warning : answer.warnings) {
            std::fprintf(stderr, "perfleet: warning: %s\n", printable(warning).c_str());
        }
    }
    return Done{};
}

}  // namespace perfleet
