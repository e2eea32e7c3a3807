// diff: what changed between two selections.
#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "daemon/option/program_options.h"
#include "exporters/report/report.h"
#include "query-engine/statistic/diff/diff.h"
#include "tools/perfleet/query/diff_command.h"
#include "tools/perfleet/query/perf_commands.h"
#include "tools/perfleet/query/query_source.h"
#include "tools/perfleet/shell/invocation.h"
#include "tools/perfleet/shell/print_answer.h"
#include "tools/perfleet/shell/terminal.h"

namespace perfleet {
namespace {

struct DiffCommandOptions {
    std::string before;  // given without the option's name
    std::string after;
    QueryOptions query;
    OutputOptions output;
    bool fails_undecided = false;
};

// Takes the sides given without an option's name. By default they are the last session and the one before it.
Result<Done> take_sides(DiffCommandOptions& options) {
    OptionValues& values = options.query.values;
    const bool has_before = values.contains("before");
    const bool has_after = values.contains("after");
    if (!options.before.empty() && (has_before || has_after)) {
        return Error{ErrorCode::kUsage,
                     "'" + options.before + "': two ways to name a side; write --before A --after B, or A B alone"};
    }
    if (has_before && has_after) {
        return Done{};
    }
    if (!options.after.empty() && is_recording(options.before) && is_recording(options.after)) {
        options.query.input_before = options.before;
        options.query.input = options.after;
        options.before = "{side=\"before\"}";
        options.after = "{side=\"after\"}";
    }
    values.try_emplace("before", options.before.empty() ? std::string{"last~1"} : options.before);
    values.try_emplace("after", options.after.empty() ? std::string{"last"} : options.after);
    if (options.after.empty()) {
        print_note("compares " + std::get<std::string>(values["before"]) + " with " +
                   std::get<std::string>(values["after"]));
    }
    return Done{};
}

Result<int> run_diff(DiffCommandOptions& options) {
    if (options.fails_undecided && !options.query.values.contains("fail-if")) {
        return Error{ErrorCode::kUsage, "--fail-undecided: needs --fail-if"};
    }
    PERFLEET_TRY(take_sides(options));
    const auto answer = PERFLEET_TRY(ask_table(options.query, **find_query_command("diff")));
    PERFLEET_TRY(print_diff(answer, options.output));
    return status_of_diff(answer, options.fails_undecided);
}

}  // namespace

Result<Done> print_diff(const Answer& answer, const OutputOptions& output) {
    return output.is_text() ? print_answer(answer, format_comparison(answer, output.screen()), output)
                            : print_answer(answer, output);
}

int status_of_diff(const Answer& answer, bool fails_undecided) {
    int status = 0;
    for (std::size_t i = 0; i < answer.columns.size(); ++i) {
        if (answer.columns[i].name != "outcome") {
            continue;
        }
        for (const std::vector<AnswerValue>& row : answer.rows) {
            const auto* outcome = std::get_if<std::string>(&row[i]);
            if (outcome != nullptr && *outcome == kOutcomeExceeded) {
                return kExitFailure;
            }
            if (outcome != nullptr && fails_undecided && *outcome == kOutcomeUndecided) {
                status = kExitUndecided;
            }
        }
    }
    return status;
}

OptionRow fail_undecided_row(bool& fails_undecided) {
    return {"--fail-undecided", fails_undecided, "exit with 3 when the data don't show whether it holds"};
}

void add_diff_command(CLI::App& app, Invocation& invocation) {
    const QueryCommand& query = **find_query_command("diff");
    const auto [command, options] =
        add_command<DiffCommandOptions>(app, invocation, query.name, query.summary, run_diff);
    add_options(*command, query.options, options->query.values);
    add_options(*command,
                {{"BEFORE SIDE", options->before,
                  "--before without its name, or with AFTER: a perf.data file or profile of pprof. Default: last~1"},
                 {"AFTER SIDE", options->after, "--after without its name. Default: last"},
                 fail_undecided_row(options->fails_undecided)});
    add_options(*command, output_rows(options->output));
    options->query.add_to(*command, with_perf_aliases(query.name, query.selection()), query.use);
}

}  // namespace perfleet
