// targets, sessions, losses, top, tree, counters, tracepoints, latency, kernel-entries, utilisation: a question, a
// table.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "exporters/figure/histogram_figure.h"
#include "exporters/report/report.h"
#include "query-engine/statistic/command.h"
#include "query-engine/statistic/number/histogram.h"
#include "schemas/vocabulary/option_value.h"
#include "tools/perfleet/command_options.h"
#include "tools/perfleet/file_sink.h"
#include "tools/perfleet/function_latency.h"
#include "tools/perfleet/invocation.h"
#include "tools/perfleet/print_answer.h"
#include "tools/perfleet/query_source.h"
#include "tools/perfleet/terminal.h"
#include "tools/perfleet/watch.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kTextRowCountMax = 40;  // of top and lists of entries, unless --limit says otherwise
constexpr double kWatchIntervalSMin = 0.1;
constexpr double kWatchIntervalSMax = 86'400;
constexpr std::size_t kLinesBesideRows = 10;  // of top: headings, ledger and warnings
constexpr double kTextPercentMin = 1;         // of tree, unless --min-percent says otherwise

struct TableOptions {
    QueryOptions query;
    OutputOptions printing;
    std::optional<double> watch_s;
    std::string output;      // of a histogram: a figure beside the table
    bool is_forced = false;  // the figure may replace a file
    FunctionOptions functions;
    std::vector<std::string> own_command_line;

    [[nodiscard]] bool has(const char* name) const { return query.values.contains(name); }
    // Of an option that is text; empty where it isn't given, or is a flag of this command.
    [[nodiscard]] std::string text(const char* name) const {
        const auto value = query.values.find(name);
        const auto* const text = value == query.values.end() ? nullptr : std::get_if<std::string>(&value->second);
        return text == nullptr ? "" : *text;
    }
};

// What a table for people leaves out, unless its reader says otherwise.
void bound_text(const QueryCommand& command, TableOptions& options) {
    if (!options.printing.is_text()) {
        return;
    }
    const auto add_default = [&](const char* name, OptionValue value) {
        options.query.values.try_emplace(name, std::move(value));
    };
    const std::string table = options.text("table");
    if (command.name == "top" ||
        (command.name == "kernel-entries" && !table.empty() && table != "summary" && table != "durations")) {
        add_default("limit", kTextRowCountMax);
    } else if (command.name == "tree") {
        add_default("min-percent", kTextPercentMin);
    }
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

std::uint64_t whole(const AnswerValue& value) { return std::get<std::uint64_t>(value); }

// The rows of a histogram as bars: powers of two and equal steps as funclatency draws them, or cumulative bars.
std::string bars(const Answer& answer, const std::string& kind, const Screen& screen) {
    if (answer.rows.empty()) {
        return format_report(answer, ReportFormat::kText, screen);
    }
    std::string text;
    if (kind == "log2") {
        Log2Histogram histogram;
        for (const auto& row : answer.rows) {
            histogram.add(whole(row[0]), whole(row[2]));
        }
        text = log2_bars(histogram, answer.columns[0].unit);
    } else {
        const std::uint64_t low = whole(answer.rows[0][0]);
        const std::uint64_t width = whole(answer.rows[0][1]) - low + 1;
        const std::uint64_t count = whole(answer.rows.back()[3]);
        const auto is_rest = [&](const auto& row) { return whole(row[1]) - whole(row[0]) + 1 != width; };
        const bool has_rest = answer.rows.size() > 1 && is_rest(answer.rows.back());
        LinearHistogram histogram{low, width, answer.rows.size() - (has_rest ? 1 : 0)};
        for (const auto& row : answer.rows) {
            histogram.add(whole(row[0]), whole(row[2]));
        }
        const std::string& unit = answer.columns[0].unit;
        text = kind == "linear" ? linear_bars(histogram, unit)
                                : cumulative_head(histogram, unit) + cumulative_bars(histogram, count);
        if (has_rest) {
            text += fmt::format("\nbeyond: up to {} {}\n", whole(answer.rows.back()[1]), unit);
        }
    }
    return text + "\n" + ledger_text(answer, screen);
}

// The histogram as a figure; a second question gives its title and marks.
Result<Done> write_figure(const Answer& histogram, const TableOptions& options) {
    TableOptions plain = options;
    plain.query.values.erase("histogram");
    plain.query.values.erase("bucket");
    const auto summary = PERFLEET_TRY(ask_table(plain.query, **find_query_command("latency")));
    const std::string kind = options.text("histogram");
    const Figure figure = histogram_figure(histogram, summary,
                                           kind == "log2"     ? HistogramShape::kLog2
                                           : kind == "linear" ? HistogramShape::kLinear
                                                              : HistogramShape::kCumulative);
    const ExistingFile existing = options.is_forced ? ExistingFile::kReplace : ExistingFile::kRefuse;
    if (options.output.ends_with(".svg")) {
        return write_file(options.output, svg_of(figure), existing);
    }
    const Result<std::string> png = png_of(figure);
    return png.ok() ? write_file(options.output, *png, existing) : Result<Done>{Error{png.error()}};
}

Result<Done> check_output(const TableOptions& options) {
    if (options.output.empty()) {
        return Done{};
    }
    if (!options.has("histogram")) {
        return Error{ErrorCode::kUsage,
                     "--output: only histograms are drawn; add --histogram linear, log2 or cumulative"};
    }
    if (!options.output.ends_with(".svg") && !options.output.ends_with(".png")) {
        return Error{ErrorCode::kUsage, "--output: " + options.output + " ends neither in .svg nor in .png"};
    }
    return Done{};
}

std::string for_people(const std::string& command, const TableOptions& options, const Answer& answer) {
    const Screen screen = options.printing.screen();
    if (command == "latency" && options.has("histogram")) {
        return bars(answer, options.text("histogram"), screen);
    }
    const bool is_summary =
        command == "kernel-entries" && !answer.columns.empty() && answer.columns.back().name == "kernel_share";
    if ((command == "latency" && !options.has("table")) || is_summary) {
        return format_figures(answer, screen);
    }
    if (command == "kernel-entries") {
        constexpr std::array<std::string_view, 2> kLeftOut{"syscall_id", "cap_type"};
        constexpr std::array<std::string_view, 5> kSpared{"sd", "fastpath", "image", "children_share", "children"};
        return format_sessions(answer, {screen, kLeftOut, kSpared});
    }
    if (command == "utilisation") {
        const bool has_one = std::all_of(answer.rows.begin(), answer.rows.end(), [](const auto& row) {
            return row.size() > 2 && row[2] == AnswerValue{std::uint64_t{1}};
        });
        constexpr std::array<std::string_view, 1> kLeftOut{"window"};
        constexpr std::array<std::string_view, 4> kSpared{"entries", "schedules", "kernel_cycles", "kernel_share"};
        return format_sessions(answer, {screen, std::span{kLeftOut}.first(has_one ? 1 : 0), kSpared});
    }
    if (command == "tracepoints" && answer.columns.front().name == "overhead") {
        // As seL4's documentation has it: figures without their unit.
        Answer plain = answer;
        for (AnswerColumn& column : plain.columns) {
            column.unit = column.unit == "percent" ? column.unit : "";
        }
        return format_report(plain, ReportFormat::kText, screen);
    }
    if (command == "tracepoints") {
        constexpr std::array<std::string_view, 2> kLeftOut{"first", "last"};
        constexpr std::array<std::string_view, 2> kSpared{"weight", "sd"};
        return format_sessions(answer, {screen, kLeftOut, kSpared});
    }
    return format_report(answer, ReportFormat::kText, screen);
}

int show(const QueryCommand& query, TableOptions& options) {
    const std::string& command = query.name;
    Result<Answer> answer = ask_table(options.query, query);
    if (!answer.ok()) {
        return report_error(answer.error());
    }
    if (!options.output.empty()) {
        if (const Result<Done> written = write_figure(*answer, options); !written.ok()) {
            return report_error(written.error());
        }
        const std::uint64_t count = answer->rows.empty() ? 0 : whole(answer->rows.back()[3]);
        print_note(options.output + ": histogram of " + std::to_string(count) + " values");
    }
    if (command == "tree" && options.printing.is_text()) {
        indent(*answer);
    }
    const Result<Done> printed = options.printing.is_text()
                                     ? print_answer(*answer, for_people(command, options, *answer), options.printing)
                                     : print_answer(*answer, options.printing);
    return printed.ok() ? 0 : report_error(printed.error());
}

int run(const QueryCommand& query, TableOptions& options) {
    if (const Result<Done> checked = check_output(options); !checked.ok()) {
        return report_error(checked.error());
    }
    if (const Result<Done> checked = check_function_options(options.functions); !checked.ok()) {
        return report_error(checked.error());
    }
    bound_text(query, options);
    if (!options.functions.functions.empty()) {
        return run_function_latency(options.functions, options.query, options.printing, options.watch_s,
                                    options.own_command_line, [&] { return show(query, options); });
    }
    if (!options.watch_s) {
        return show(query, options);
    }
    options.printing.has_no_pager = true;
    if (query.name == "top" && options.printing.is_text()) {
        if (const std::size_t lines = terminal_lines(STDOUT_FILENO); lines > kLinesBesideRows) {
            auto& limit = std::get<std::uint64_t>(options.query.values["limit"]);
            limit = std::min<std::uint64_t>(limit, lines - kLinesBesideRows);
        }
    }
    return watch(*options.watch_s, [&] { return show(query, options); });
}

// Options of perf report that ask for what top's table is anyway.
void add_report_options(CLI::App& command) {
    command.add_flag("--stdio,--no-children,-n,--show-nr-samples,--show-total-period")
        ->description("As perf report has them: the table is text, with samples, self and children");
}

CLI::App* add_table_command(CLI::App& parent, const std::string& name, const QueryCommand& query,
                            Invocation& invocation) {
    CLI::App* command = parent.add_subcommand(name, query.summary);
    command->footer(query.footer);
    const auto options = std::make_shared<TableOptions>();
    add_command_options(*command, query.options, options->query.values);
    add_output_options(*command, options->printing);
    command->add_option("--watch", options->watch_s, "show it again every so many seconds, until Ctrl-C")
        ->type_name("SECONDS")
        ->check(CLI::Range(kWatchIntervalSMin, kWatchIntervalSMax));
    if (query.name == "top") {
        add_report_options(*command);
    }
    if (query.name == "latency") {
        command->add_option("-o,--output", options->output, "draw the histogram, too, as .svg or .png")
            ->check(check_not_empty)
            ->type_name("FILE");
        add_function_options(*command, options->functions);
        command->add_flag("--force", options->is_forced, "replace the file of --output if it exists");
    }
    options->query.add_to(*command, query.selection());
    command->callback([&invocation, &query, command, options] {
        if (command->get_subcommands().empty()) {  // else that one has said what to do
            invocation.run = [&invocation, &query, options] {
                options->own_command_line = {"perfleet"};
                options->own_command_line.insert(options->own_command_line.end(), invocation.arguments.begin(),
                                                 invocation.arguments.end());
                return run(query, *options);
            };
        }
    });
    return command;
}

}  // namespace

void add_table_commands(CLI::App& app, Invocation& invocation) {
    for (const QueryCommand& query : query_commands()) {
        if (query.name == "diff" || query.name == "annotate") {
            continue;  // add_diff_command, add_annotate_command
        }
        CLI::App* command = add_table_command(app, query.name, query, invocation);
        for (const std::string& alias : query.aliases) {
            command->alias(alias);
        }
        if (query.name == "symbols") {
            add_table_command(*command, "list", query, invocation);
        }
    }
}

}  // namespace perfleet
