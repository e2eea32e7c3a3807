// diff: what changed between two selections.
#include <cerrno>
#include <cstdio>
#include <memory>

#include "exporters/report/report.h"
#include "query-engine/statistic/diff.h"
#include "tools/perfleet/command_options.h"
#include "tools/perfleet/invocation.h"
#include "tools/perfleet/print_answer.h"
#include "tools/perfleet/query_source.h"

namespace perfleet {
namespace {

struct CompareOptions {
    QueryOptions query;
    OutputOptions output;
    bool fails_undecided = false;
};

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

int run(CompareOptions& options) {
    if (options.fails_undecided && !options.query.values.contains("fail-if")) {
        return report_error({ErrorCode::kUsage, "--fail-undecided: needs --fail-if"});
    }
    const Result<Answer> answer = ask_table(options.query, **find_query_command("diff"));
    if (!answer.ok()) {
        return report_error(answer.error());
    }
    const Result<Done> printed =
        options.output.is_text()
            ? print_answer(*answer, format_comparison(*answer, options.output.screen()), options.output)
            : print_answer(*answer, options.output);
    if (!printed.ok()) {
        return report_error(printed.error());
    }
    return fails(*answer, options.fails_undecided) ? kExitFailure : 0;
}

}  // namespace

void add_diff_command(CLI::App& app, Invocation& invocation) {
    const QueryCommand& query = **find_query_command("diff");
    CLI::App* command = app.add_subcommand(query.name, query.summary);
    const auto options = std::make_shared<CompareOptions>();
    add_command_options(*command, query.options, options->query.values);
    for (const char* side : {"--before", "--after"}) {
        command->get_option(side)->required();
    }
    command->add_flag("--fail-undecided", options->fails_undecided,
                      "exit with 1 also when the data can't tell whether it holds");
    add_output_options(*command, options->output);
    options->query.add_to(*command, query.selection());
    command->callback([&invocation, options] { invocation.run = [options] { return run(*options); }; });
}

}  // namespace perfleet
