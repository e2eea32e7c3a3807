// targets, sessions, losses, top, tree, counters, tracepoints: a question, a table.
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
constexpr const char* kTextPercentMin = "1";    // of tree, unless --min-percent says otherwise

struct TableOptions {
    QueryOptions query;
    std::string format = "text";
    std::string by;
    std::string row_count_max;
    std::string percent_min;
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
    }
    if (command == "tree") {
        if (!options.percent_min.empty()) {
            text["min-percent"] = options.percent_min;
        } else if (options.format == "text") {
            text["min-percent"] = kTextPercentMin;
        }
    }
    if (options.sum_weights) {
        text["weight"] = "yes";
    }
    if (const Result<Done> checked = check_table_command(command, text, utc_now()); !checked.ok()) {
        return Error{checked.error()};
    }
    if (!options.query.gateway.empty()) {
        const Result<std::unique_ptr<QueryClient>> client = options.query.connect();
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

// For people: each symbol of a tree stands as far in as it is deep, and the depth's own column goes.
void indent(Answer& tree) {
    tree.columns.erase(tree.columns.begin());
    for (std::vector<AnswerValue>& row : tree.rows) {
        const std::string indentation(2 * std::get<std::uint64_t>(row[0]), ' ');
        row[1] = indentation + std::get<std::string>(row[1]);
        row.erase(row.begin());
    }
}

int run(const std::string& command, const TableOptions& options) {
    Result<Answer> answer = ask(command, options);
    if (!answer.ok()) {
        return report_error(answer.error());
    }
    if (command == "tree" && options.format == "text") {
        indent(*answer);
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
        {"tree", "Who called whom: the call chains of the samples from the outermost function in"},
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
        }
        if (name == "tree") {
            command->add_option("--min-percent", options->percent_min, "leave out branches below (default: 1 in text)")
                ->type_name("P");
        }
        if (name == "top" || name == "tree") {
            command->add_flag("--weight", options->sum_weights, "sum the event's unit instead of counting samples");
        }
        command->callback([&invocation, options, command_name = name] {
            invocation.run = [options, command_name] { return run(command_name, *options); };
        });
    }
}

}  // namespace perfleet
