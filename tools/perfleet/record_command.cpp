// record: profiles a program here and now, and shows what it saw.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include "exporters/report/report.h"
#include "query-engine/select/selection.h"
#include "query-engine/statistic/command.h"
#include "storage/store/store.h"
#include "target-collector/linux/command_line.h"
#include "tools/perfleet/invocation.h"
#include "tools/perfleet/query_source.h"
#include "tools/perfleet/record.h"

namespace perfleet {
namespace {

constexpr const char* kTopRowCount = "20";

void say(std::string_view text) {
    std::fprintf(stderr, "perfleet record: %.*s\n", static_cast<int>(text.size()), text.data());
}

// The parents of the folder, too: a newcomer has none of them.
Result<Done> make_folder(const std::string& folder) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) {
        return error_from_errno(error.value(), "data folder " + folder + " (name another one with --data)");
    }
    return Done{};
}

Result<Done> show_top(const std::string& data_folder, SessionId session) {
    const Result<std::unique_ptr<StoreReader>> store = open_rocksdb_reader(data_folder);
    if (!store.ok()) {
        return Error{store.error()};
    }
    const CommandOptions options{{"session", session_hex(session)}, {"limit", kTopRowCount}};
    const Result<Answer> answer = run_table_command("top", options, **store, SymbolPaths{}, utc_now());
    if (!answer.ok()) {
        return Error{answer.error()};
    }
    std::printf("%s", format_report(*answer, ReportFormat::kText).c_str());
    std::fflush(stdout);
    for (const std::string& warning : answer->warnings) {
        say("warning: " + printable(warning));
    }
    return Done{};
}

}  // namespace

int record_command(int argument_count, char** arguments) {
    Result<std::optional<CommandLine>> line = parse_command_line(CommandLineForm::kRecord, argument_count, arguments);
    if (!line.ok()) {
        say(line.error().message);
        return exit_status_of(line.error(), false);
    }
    if (!line->has_value()) {
        return 0;
    }
    CollectorOptions options = std::move((*line)->options);
    const bool has_command = !options.command.empty();
    const bool is_default_folder = (*line)->data_folder.empty();
    const std::string data_folder = is_default_folder ? default_data_folder() : (*line)->data_folder;
    if (const Result<Done> made = make_folder(data_folder); !made.ok()) {
        return report_error(made.error());
    }
    const Result<CollectorSummary> summary = record(std::move(options), data_folder, say);
    if (!summary.ok()) {
        say(summary.error().message);
        return exit_status_of(summary.error(), has_command);
    }
    say(summary_line(*summary));
    if (const Result<Done> shown = show_top(data_folder, summary->session); !shown.ok()) {
        return report_error(shown.error());
    }
    const std::string where = is_default_folder ? "" : " --data " + data_folder;
    std::printf("Next: perfleet export --to perf.data -o perf.data --session last%s && perf report -i perf.data\n",
                where.c_str());
    return summary->everything_acknowledged ? summary->command_exit_status : kExitFailure;
}

}  // namespace perfleet
