// diff: what changed between two selections.
#include <cerrno>
#include <cstdio>
#include <map>
#include <memory>

#include "exporters/report/report.h"
#include "query-engine/statistic/diff.h"
#include "tools/perfleet/invocation.h"
#include "tools/perfleet/query_source.h"
#include "tools/perfleet/terminal.h"

namespace perfleet {
namespace {

struct CompareOptions {
    QueryOptions query;
    std::string format = "text";
    std::map<std::string, std::string> passed_on;  // as they are
    std::vector<std::string> conditions;
    bool fails_undecided = false;
};

CommandOptions text_of(const CompareOptions& options) {
    CommandOptions text = options.query.as_text();
    for (const auto& [name, value] : options.passed_on) {
        if (!value.empty()) {
            text[name] = value;
        }
    }
    for (const std::string& condition : options.conditions) {
        std::string& all = text["fail-if"];
        all += (all.empty() ? "" : ",") + condition;
    }
    return text;
}

// Whether a condition of --fail-if holds, or may.
bool fails(const Answer& answer, bool fails_undecided) {
    for (std::size_t i = 0; i < answer.columns.size(); ++i) {
        if (answer.columns[i].name != "outcome") {
            continue;
        }
        for (const std::vector<AnswerValue>& row : answer.rows) {
            const auto* outcome = std::get_if<std::string>(&row[i]);
            if (outcome != nullptr &&
                (*outcome == kOutcomeExceeded || (fails_undecided && *outcome == kOutcomeUndecided))) {
                return true;
            }
        }
    }
    return false;
}

int run(const CompareOptions& options) {
    if (options.fails_undecided && options.conditions.empty()) {
        return report_error({ErrorCode::kUsage, "--fail-undecided: needs --fail-if"});
    }
    const Result<Answer> answer = ask_table(options.query, "diff", text_of(options));
    if (!answer.ok()) {
        return report_error(answer.error());
    }
    const std::string report = options.format == "json"  ? format_report(*answer, ReportFormat::kJson)
                               : options.format == "csv" ? format_report(*answer, ReportFormat::kCsv)
                                                         : format_comparison(*answer, kTerminalColumns);
    if (const int status = print_answer(*answer, report, options.format); status != 0) {
        return status;
    }
    return fails(*answer, options.fails_undecided) ? kExitFailure : 0;
}

}  // namespace

void add_diff_command(CLI::App& app, Invocation& invocation) {
    CLI::App* command = app.add_subcommand("diff", "What changed between two runs, times or groups of targets");
    const auto options = std::make_shared<CompareOptions>();
    const auto add = [&](const char* name, const char* summary, const char* type) {
        return command->add_option(std::string{"--"} + name, options->passed_on[name], summary)->type_name(type);
    };
    add("before", "one side: a session (digits, last~1), '{version=\"1\"}', -2h..-1h, or several of them", "SIDE")
        ->required();
    add("after", "the other side", "SIDE")->required();
    add("of", "compare latency or profile (default: latencies, where there are some)", "WHAT");
    add("by", "keep series apart by these labels, with commas: target, arch or your own", "LABELS");
    add("percentiles", "which of latencies, with commas (default: 90,95,99)", "LIST");
    add("confidence", "of intervals and verdicts, in percent (default: 95)", "P");
    add("limit", "functions of a profile at most (default: all)", "N");
    command
        ->add_option("--fail-if", options->conditions,
                     "exit with 1 when this is shown: 'p99 > 5%', mean, median, max; of profiles 'self > 2%', "
                     "'children(main) < -2%', in percentage points. May be given several times")
        ->type_name("CONDITION");
    command->add_flag("--fail-undecided", options->fails_undecided,
                      "exit with 1 also when the data can't tell whether it holds");
    options->query.add_to(*command);
    command->add_option("--format", options->format, "text, json or csv")
        ->check(CLI::IsMember({"text", "json", "csv"}))
        ->type_name("FORMAT");
    command->callback([&invocation, options] { invocation.run = [options] { return run(*options); }; });
}

}  // namespace perfleet
