// targets, sessions, losses, top, tree, counters, tracepoints, latency, kernel-entries, utilisation: a query whose
// answer is a table.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "daemon/option/program_options.h"
#include "exporters/figure/figure_page.h"
#include "exporters/figure/heat_map_figure.h"
#include "exporters/figure/histogram_figure.h"
#include "query-engine/statistic/command.h"
#include "tools/perfleet/query/perf_commands.h"
#include "tools/perfleet/query/query_source.h"
#include "tools/perfleet/query/table_text.h"
#include "tools/perfleet/record/function_latency.h"
#include "tools/perfleet/shell/figure_file.h"
#include "tools/perfleet/shell/file_sink.h"
#include "tools/perfleet/shell/invocation.h"
#include "tools/perfleet/shell/print_answer.h"
#include "tools/perfleet/shell/terminal.h"
#include "tools/perfleet/shell/watch.h"

namespace perfleet {
namespace {

constexpr double kWatchIntervalSMin = 0.1;
constexpr double kWatchIntervalSMax = 86'400;
constexpr std::size_t kLinesBesideRows = 10;  // of top: headings, ledger and warnings

struct TableOptions {
    QueryOptions query;
    OutputOptions printing;
    std::optional<double> watch_s;
    std::string output;      // of a histogram: a figure beside the table
    bool is_forced = false;  // the figure may replace a file
    FunctionRunOptions functions;

    [[nodiscard]] bool has(const char* name) const { return query.values.contains(name); }
};

// The number of values in a histogram or a heat map.
std::uint64_t value_count(const Answer& answer, bool is_heat_map) {
    const HeatMap map = is_heat_map ? heat_map_of(answer) : HeatMap{};
    return is_heat_map ? map.count : answer.rows.empty() ? 0 : std::get<std::uint64_t>(answer.rows.back()[3]);
}

// Writes the answer as a figure; a second query gives its title and marks.
Result<Done> write_figure(const Answer& answer, const TableOptions& options) {
    TableOptions plain = options;
    for (const char* name : {"histogram", "heat-map", "bucket"}) {
        plain.query.values.erase(name);
    }
    const auto summary = PERFLEET_TRY(ask_table(plain.query, **find_query_command("latency")));
    const bool is_heat_map = options.has("heat-map");
    const std::string kind = text_option(options.query.values, "histogram");
    const HistogramShape shape = kind == "log2"     ? HistogramShape::kLog2
                                 : kind == "linear" ? HistogramShape::kLinear
                                                    : HistogramShape::kCumulative;
    const std::string format = *figure_format_of(options.output);
    std::string bytes;
    if (format == "html") {
        bytes = is_heat_map ? heat_map_page(answer, summary) : histogram_page(answer, summary, shape);
    } else {
        const Figure figure = is_heat_map ? heat_map_figure(answer, summary) : histogram_figure(answer, summary, shape);
        bytes = format == "svg" ? svg_of(figure) : PERFLEET_TRY(png_of(figure));
    }
    return write_file(options.output, bytes, options.is_forced ? ExistingFile::kReplace : ExistingFile::kRefuse);
}

Result<Done> check_output(const TableOptions& options) {
    if (options.output.empty()) {
        return Done{};
    }
    if (!options.has("histogram") && !options.has("heat-map")) {
        return Error{ErrorCode::kUsage,
                     "--output: only histograms and heat maps are drawn; add --histogram linear, log2 or cumulative, "
                     "or --heat-map"};
    }
    if (!figure_format_of(options.output)) {
        return Error{ErrorCode::kUsage, "--output: " + options.output + " ends in none of .html, .svg and .png"};
    }
    return Done{};
}

Result<int> show(const QueryCommand& query, TableOptions& options) {
    const auto answer = PERFLEET_TRY(ask_table(options.query, query));
    if (!options.output.empty()) {
        PERFLEET_TRY(write_figure(answer, options));
        const bool is_heat_map = options.has("heat-map");
        print_note(options.output + (is_heat_map ? ": heat map of " : ": histogram of ") +
                   std::to_string(value_count(answer, is_heat_map)) + " values");
    }
    const auto format = options.printing.is_text() ? table_text_of(query.name).format : nullptr;
    PERFLEET_TRY(
        format != nullptr
            ? print_answer(answer, format(answer, options.query.values, options.printing.screen()), options.printing)
            : print_answer(answer, options.printing));
    return 0;
}

Result<int> run(const QueryCommand& query, TableOptions& options) {
    PERFLEET_TRY(check_output(options));
    PERFLEET_TRY(check_function_options(options.functions));
    if (const auto add = table_text_of(query.name).add_defaults; add != nullptr && options.printing.is_text()) {
        add(options.query.values);
    }
    if (!options.functions.functions.empty()) {
        options.functions.watch_s = options.watch_s;
        return run_function_latency(options.functions, options.query, options.printing,
                                    [&] { return exit_status(show(query, options)); });
    }
    if (!options.watch_s) {
        return show(query, options);
    }
    options.printing.has_no_pager = true;
    if (table_text_of(query.name).is_report && options.printing.is_text()) {
        if (const std::size_t lines = terminal_lines(STDOUT_FILENO); lines > kLinesBesideRows) {
            auto& limit = std::get<std::uint64_t>(options.query.values["limit"]);
            limit = std::min<std::uint64_t>(limit, lines - kLinesBesideRows);
        }
    }
    return watch(*options.watch_s, [&] { return exit_status(show(query, options)); });
}

CLI::App* add_table_command(CLI::App& parent, const std::string& name, const QueryCommand& query,
                            Invocation& invocation) {
    const TableText& text = table_text_of(query.name);
    CLI::App* command = parent.add_subcommand(name, query.summary);
    command->footer(query.footer);
    const auto options = std::make_shared<TableOptions>();
    add_options(*command, with_perf_aliases(name, query.options), options->query.values);
    add_options(*command, output_rows(options->printing));
    add_options(*command, {{name == "top" ? "-d,--watch SECONDS" : "--watch SECONDS", options->watch_s,
                            "show it again every so many seconds, until Ctrl-C",
                            is_between(kWatchIntervalSMin, kWatchIntervalSMax)}});
    if (text.is_report) {  // the table has all this anyway
        add_options(*command, {{"--stdio,--children,-n,--show-nr-samples,--show-total-period", [] {},
                                "As perf report has them: the table is text, with samples, self and children"}});
    }
    if (text.measures) {
        add_options(*command,
                    {{"-o,--output FILE", options->output,
                      "draw the histogram or heat map, too: .html for browsers, .svg or .png", is_not_empty}});
        add_function_options(*command, options->functions);
        add_options(*command, {force_row(options->is_forced)});
    }
    options->query.add_to(*command, with_perf_aliases(name, query.selection()), query.use);
    options->query.add_input_to(*command);
    if (text.measures) {
        command->get_option("--function")->excludes(command->get_option("--input"));
    }
    command->callback([&invocation, &query, &parent, command, options] {
        for (const auto& [option, value] : {std::pair{"--input", &options->query.input},
                                            {"--data", &options->query.data},
                                            {"--gateway", &options->query.gateway}}) {
            const CLI::Option* const before = parent.get_option_no_throw(option);  // `symbols --data DIR list`
            if (before != nullptr && before->count() != 0 && value->empty()) {
                *value = before->as<std::string>();
            }
        }
        if (command->get_subcommands().empty()) {  // else the subcommand has set it
            invocation.run = [&invocation, &query, options] {
                options->functions.own_command_line = invocation.command_line();
                return run(query, *options);
            };
        }
    });
    return command;
}

}  // namespace

void add_table_commands(CLI::App& app, Invocation& invocation) {
    for (const QueryCommand& query : query_commands()) {
        const TableText& text = table_text_of(query.name);
        if (text.has_own_command) {
            continue;
        }
        CLI::App* command = add_table_command(app, query.name, query, invocation);
        for (const std::string& alias : query.aliases) {  // its messages and its help have the name that was typed
            add_table_command(app, alias, query, invocation);
        }
        if (text.has_list) {
            add_table_command(*command, "list", query, invocation)->alias("ls");
        }
    }
}

}  // namespace perfleet
