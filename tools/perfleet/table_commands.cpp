// targets, sessions, losses, top, counters, tracepoints: a question, a table.
#include <cstdio>
#include <map>
#include <memory>

#include "exporters/report/report.h"
#include "query-engine/wire/query_client.h"
#include "tools/perfleet/invocation.h"
#include "tools/perfleet/query_source.h"

namespace perfleet {
namespace {

constexpr const char* kTextRowCountMax = "40";  // of top, unless --limit says otherwise

struct TableOptions {
    QueryOptions query;
    std::string format = "text";
    std::string by;
    std::string row_count_max;
    bool sum_weights = false;
};

Result<Answer> ask(const std::string& command, const TableOptions& options) {
    CommandOptions text = options.query.as_text();
    if (command == "top") {
        if (!options.by.empty()) {
            text["by"] = options.by;
        }
        if (!options.row_count_max.empty()) {
            text["limit"] = options.row_count_max;
        } else if (options.format == "text") {
            text["limit"] = kTextRowCountMax;
        }
        if (options.sum_weights) {
            text["weight"] = "yes";
        }
    }
    if (const Result<Done> checked = check_table_command(command, text, utc_now()); !checked.ok()) {
        return Error{checked.error()};
    }
    if (!options.query.gateway.empty()) {
        const Result<std::unique_ptr<QueryClient>> client = QueryClient::connect(options.query.gateway);
        if (!client.ok()) {
            return Error{client.error()};
        }
        return (*client)->ask_table(command, text);
    }
    const Result<std::unique_ptr<StoreReader>> store = open_data(options.query);
    if (!store.ok()) {
        return Error{store.error()};
    }
    return run_table_command(command, text, **store, options.query.symbol_paths(), utc_now());
}

int run(const std::string& command, const TableOptions& options) {
    const Result<Answer> answer = ask(command, options);
    if (!answer.ok()) {
        return report_error(answer.error());
    }
    const ReportFormat format = options.format == "json"  ? ReportFormat::kJson
                                : options.format == "csv" ? ReportFormat::kCsv
                                                          : ReportFormat::kText;
    const std::string report = format_report(*answer, format);
    if (std::fwrite(report.data(), 1, report.size(), stdout) != report.size() || std::fflush(stdout) != 0) {
        return report_error(error_from_errno(errno, "standard output"));
    }
    if (format != ReportFormat::kJson) {
        for (const std::string& warning : answer->warnings) {
            std::fprintf(stderr, "perfleet: warning: %s\n", printable(warning).c_str());
        }
    }
    return 0;
}

}  // namespace

void add_table_commands(CLI::App& app, Invocation& invocation) {
    const std::map<std::string, std::string> summaries{
        {"targets", "Hosts and boards that have sent data"},
        {"sessions", "Runs of collectors: when, of which events, how much"},
        {"losses", "What was produced, stored, expired and lost, and why"},
        {"top", "Where the time went: symbols, images, commands or threads by samples"},
        {"counters", "Totals of counters"},
        {"tracepoints", "How often tracepoints were hit"},
    };
    for (const auto& [name, summary] : summaries) {
        CLI::App* command = app.add_subcommand(name, summary);
        const auto options = std::make_shared<TableOptions>();
        options->query.add_to(*command);
        command->add_option("--format", options->format, "text, json or csv")
            ->check(CLI::IsMember({"text", "json", "csv"}))
            ->type_name("FORMAT");
        if (name == "top") {
            command->add_option("--by", options->by, "symbol, image, command or thread; several with commas")
                ->type_name("WHAT");
            command->add_option("--limit", options->row_count_max, "rows at most (default: 40 in text, else all)")
                ->type_name("N");
            command->add_flag("--weight", options->sum_weights, "sum the event's unit instead of counting samples");
        }
        command->callback([&invocation, options, command_name = name] {
            invocation.run = [options, command_name] { return run(command_name, *options); };
        });
    }
}

}  // namespace perfleet
