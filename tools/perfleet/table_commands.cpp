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
#include "exporters/figure/figure_text.h"
#include "exporters/figure/heat_map_figure.h"
#include "exporters/figure/histogram_figure.h"
#include "query-engine/statistic/command.h"
#include "schemas/text/layout.h"
#include "target-collector/linux/command_line.h"
#include "tools/perfleet/live/live_command.h"
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
    // Of top:
    CommandLine live;
    bool is_total = false;
    bool shows_idle = false;
    std::vector<std::string> words;    // a FILE, or after -- a COMMAND
    std::optional<std::string> graph;  // of report -g, as perf has it: graph,0.5,caller

    [[nodiscard]] bool has_target() const {
        const CollectorOptions& given = live.options;
        return given.all_cpus || !given.pids.empty() || !live.user.empty() || !given.command.empty();
    }
    // As perf's top, it is of the whole machine unless something else is named.
    [[nodiscard]] bool is_live() const {
        const CollectorOptions& given = live.options;
        return has_target() || given.call_chains != CallChainMode::kNone || given.frequency_hz || given.period ||
               given.all_user || given.all_kernel || is_total || shows_idle;
    }
    [[nodiscard]] bool has(const char* name) const { return query.values.contains(name); }
};

// The number of values in a histogram or a heat map.
std::uint64_t value_count(const Answer& answer, bool is_heat_map) {
    const HeatMap map = is_heat_map ? heat_map_of(answer) : HeatMap{};
    return is_heat_map ? map.count : answer.rows.empty() ? 0 : std::get<std::uint64_t>(answer.rows.back()[3]);
}

// The session of a summary; unknown where the source has no list of sessions.
FigureOrigin origin_of(const Answer& summary, const TableOptions& options) {
    if (!options.query.input.empty()) {  // it would be read once more
        return {};
    }
    QueryOptions query = options.query;
    query.values = {{"session", OptionValue{figure_text(summary, "session")}}};
    const auto sessions = ask_table(query, **find_query_command("sessions"));
    return sessions.ok() ? FigureOrigin{figure_text(*sessions, "command"), figure_text(*sessions, "start")}
                         : FigureOrigin{};
}

// Writes the answer as a figure; further queries give its title and marks, and buckets for values that span decades.
Result<Done> write_figure(const Answer& answer, const TableOptions& options) {
    TableOptions plain = options;
    for (const char* name : {"histogram", "heat-map", "bucket", "bar-width"}) {
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
        const FigureOrigin origin = origin_of(summary, options);
        std::optional<Answer> log2;
        if (!is_heat_map && shape != HistogramShape::kLog2 && spans_decades(answer)) {
            plain.query.values["histogram"] = std::string{"log2"};
            log2 = PERFLEET_TRY(ask_table(plain.query, **find_query_command("latency")));
        }
        bytes = is_heat_map ? heat_map_page(answer, summary, origin)
                            : histogram_page(answer, summary, shape, log2 ? &*log2 : nullptr, origin);
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
                   counted_noun(value_count(answer, is_heat_map), "value"));
    }
    const auto format = options.printing.is_text() ? table_text_of(query.name).format : nullptr;
    PERFLEET_TRY(
        format != nullptr
            ? print_answer(answer, format(answer, options.query.values, options.printing.screen()), options.printing)
            : print_answer(answer, options.printing));
    return 0;
}

Result<Done> check_live(const TableOptions& options) {
    const QueryOptions& query = options.query;
    for (const char* name : {"session", "select", "from", "until", "time", "slowest", "of", "callers"}) {
        if (options.has(name)) {
            return Error{ErrorCode::kUsage,
                         std::string{"--"} + name + ": not with a live profile (-a, -p, -- COMMAND)"};
        }
    }
    if (!query.data.empty() || !query.gateway.empty() || !query.input.empty() || query.takes_all) {
        return Error{ErrorCode::kUsage, "a live profile (-a, -p, -- COMMAND) has no store, file or gateway"};
    }
    return check_query("top", query.values, UtcNs{0});
}

Result<int> run_live_top(TableOptions& options) {
    PERFLEET_TRY(check_live(options));
    options.live.options.all_cpus |= !options.has_target();
    auto line = PERFLEET_TRY(finish_command_line(std::move(options.live)));
    LiveOptions live;
    live.collector = std::move(line->options);
    live.values = options.query.values;
    live.paths = options.query.symbol_paths();
    live.period_s = options.watch_s.value_or(live.period_s);
    live.is_total = options.is_total;
    live.shows_idle = options.shows_idle;
    if (const auto memory = live.values.extract("memory")) {
        live.memory_size_bytes = std::get<std::uint64_t>(memory.mapped());
    }
    if (const auto event = live.values.extract("event")) {
        live.collector.events = {std::get<std::string>(event.mapped())};
    }
    return run_live(std::move(live), options.printing);
}

Result<int> run(const QueryCommand& query, TableOptions& options) {
    if (options.graph && options.graph->find("none") == std::string::npos) {
        if (options.graph->find("callee") != std::string::npos) {
            options.query.values["inverted"] = true;
        }
        options.graph.reset();
        return run(**find_query_command("tree"), options);
    }
    PERFLEET_TRY(check_output(options));
    PERFLEET_TRY(check_function_options(options.functions));
    if (options.is_live()) {
        return run_live_top(options);
    }
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
    if (name == "report") {
        add_options(*command,
                    {{"-g,--call-graph GRAPH", [options](const std::string& graph) { options->graph = graph; },
                      "The call tree, as perfleet tree has it: caller (outermost functions first), callee or "
                      "none. Default: caller",
                      [](CLI::Option& option, CLI::App&) { option.expected(0, 1); }}});
    }
    const bool can_be_live = name == "top";
    if (can_be_live) {
        add_live_options(*command, options->live);
        add_options(*command,
                    {{"-z,--total", options->is_total, "The rows since the start, not of the last -d seconds alone"},
                     {"--idle", options->shows_idle, "The idle task (swapper), too"}},
                    "Live");
    }
    if (text.is_report) {
        add_options(*command, {{"file FILE", options->words,
                                can_be_live ? "a perf.data file or a profile of pprof, as -i; after --: a command and "
                                              "its arguments, profiled live"
                                            : "a perf.data file or a profile of pprof, as -i"}});
    }
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
            invocation.run = [&invocation, &query, options]() -> Result<int> {
                options->functions.own_command_line = invocation.command_line();
                options->live.options.own_command_line = invocation.command_line();
                PERFLEET_TRY(take_file_and_command(options->words, invocation.arguments, options->query,
                                                   options->live.options.command));
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
