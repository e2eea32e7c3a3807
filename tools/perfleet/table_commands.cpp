// targets, sessions, losses, top, tree, counters, tracepoints, latency, kernel-entries, utilisation: a question, a
// table.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "exporters/figure/histogram_figure.h"
#include "exporters/report/report.h"
#include "query-engine/statistic/number/histogram.h"
#include "schemas/vocabulary/option_value.h"
#include "tools/perfleet/file_sink.h"
#include "tools/perfleet/invocation.h"
#include "tools/perfleet/query_source.h"
#include "tools/perfleet/terminal.h"

namespace perfleet {
namespace {

constexpr const char* kTextRowCountMax = "40";  // of top and lists of entries, unless --limit says otherwise
constexpr const char* kTextPercentMin = "1";    // of tree, unless --min-percent says otherwise

struct TableOptions {
    QueryOptions query;
    std::string format = "text";
    std::string by;
    std::string row_count_max;
    std::string percent_min;
    bool sum_weights = false;
    // Of latency, kernel-entries, tracepoints and counters: options that are passed on as they are, and flags.
    std::map<std::string, std::string> passed;
    bool is_kbench = false;
    bool is_table = false;
    bool is_runs = false;
    bool is_sketch = false;
    std::string output;  // of a histogram: a figure beside the table
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
    for (const auto& [name, value] : options.passed) {
        if (!value.empty()) {
            text[name] = value;
        }
    }
    const auto table = options.passed.find("table");
    const bool is_list = table != options.passed.end() && !table->second.empty() && table->second != "summary";
    if (command == "kernel-entries" && is_list && table->second != "durations" && !text.contains("limit") &&
        options.format == "text") {
        text["limit"] = kTextRowCountMax;
    }
    if (options.is_kbench) {
        text["kbench"] = "yes";
    }
    if (options.is_table) {
        text["table"] = "yes";
    }
    if (options.is_sketch) {
        text["sketch"] = "yes";
    }
    if (options.is_runs) {
        text["runs"] = "yes";
    }
    return ask_table(options.query, command, text);
}

auto adder(CLI::App& command, TableOptions& options) {
    return [&command, &options](const char* name, const char* summary, const char* type) {
        command.add_option(std::string{"--"} + name, options.passed[name], summary)->type_name(type);
    };
}

void add_kernel_entry_options(CLI::App& command, TableOptions& options) {
    const auto add = adder(command, options);
    add("table",
        "summary (default), syscalls, interrupts, durations, threads, functions, or matches with --since-event",
        "TABLE");
    add("by", "durations by path (default), syscall or cap", "WHAT");
    add("path", "only entries of this path: syscall, interrupt, vm_fault, …", "PATH");
    add("since-event", "instead of durations the time from the last such event to the entry's start", "EVENT");
    add("samples", "of threads and functions, whose the time in the kernel was: the samples that say who ran", "EVENT");
    add("limit", "rows at most (default: 40 in text, else all)", "N");
}

void add_tracepoint_options(CLI::App& command, TableOptions& options) {
    const auto add = adder(command, options);
    add("combine", "paths that were measured in parts, as one: the event that begins a path, then the others", "A+B");
    add("overhead", "what a pair costs, from empty pairs, one inside the other", "INNER,OUTER");
    add("mode", "with --overhead: sel4bench-legacy, for comparison with what was published", "MODE");
    add("correct", "values without the effective overhead, and without the total one for each pair inside, in cycles",
        "EFF,TOTAL");
    add("inner", "with --correct: events whose pairs lie inside", "EVENTS");
    add("inner-pairs", "with --correct: … or how many pairs lie inside each", "N");
    add("pair", "time from each start event to the stop event that follows in its thread", "START,STOP");
}

void add_latency_options(CLI::App& command, TableOptions& options) {
    const auto add = adder(command, options);
    command.add_flag("--kbench", options.is_kbench,
                     "what accumulated latencies say of the primary latency (Kanata Bench)");
    command.add_flag("--runs", options.is_runs,
                     "how least value, median and mean vary from run to run, over all runs that are selected");
    command.add_flag("--sketch", options.is_sketch,
                     "of many values, from sums by minute and hour: percentiles off by at most 0.4 %");
    command.add_flag("--table", options.is_table, "the tests themselves, a column a group");
    add("histogram", "how the values are spread: log2, linear, or cumulative; the latter two up to the 95th percentile",
        "KIND");
    command.add_option("-o,--output", options.output, "draw the histogram, too, as .svg or .png")
        ->check(check_not_empty)
        ->type_name("FILE");
    add("bucket", "width of a linear histogram's buckets", "N");
    add("mode", "by older rules, for comparison with what was published: bernat or sel4bench-legacy", "MODE");
    add("skip", "leave out the first tests of each group, or the first values", "K");
    add("confidence", "of intervals, in percent (default: 95; with --kbench 90)", "P");
    add("percentiles", "which, with commas (default: 90,95,99); nearest rank, and type 7 beside it", "LIST");
    add("error", "with --kbench: wanted half-width of the mean's interval, in percent of the mean (default: 2)", "P");
    add("settled", "with --kbench: greatest change of a settled mean/N, in percent (default: 0.5)", "P");
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
std::string bars(const Answer& answer, const std::string& kind) {
    if (answer.rows.empty()) {
        return format_report(answer, ReportFormat::kText);
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
    return text + "\nrows: " + ledger_line(answer.ledger) + "\n";
}

Result<Done> write_file(const std::string& path, const std::string& bytes) {
    const Result<std::unique_ptr<FileSink>> file = FileSink::create(path);
    if (!file.ok()) {
        return Error{file.error()};
    }
    if (auto written = (*file)->write_at(0, std::as_bytes(std::span{bytes})); !written.ok()) {
        return written;
    }
    return (*file)->commit(std::nullopt);
}

// The histogram as a figure; a second question gives its title and marks.
Result<Done> write_figure(const Answer& histogram, const TableOptions& options) {
    TableOptions plain = options;
    for (const char* name : {"histogram", "bucket"}) {
        plain.passed[name].clear();
    }
    const Result<Answer> summary = ask("latency", plain);
    if (!summary.ok()) {
        return Error{summary.error()};
    }
    const std::string& kind = options.passed.at("histogram");
    const Figure figure = histogram_figure(histogram, *summary,
                                           kind == "log2"     ? HistogramShape::kLog2
                                           : kind == "linear" ? HistogramShape::kLinear
                                                              : HistogramShape::kCumulative);
    if (options.output.ends_with(".svg")) {
        return write_file(options.output, svg_of(figure));
    }
    const Result<std::string> png = png_of(figure);
    return png.ok() ? write_file(options.output, *png) : Result<Done>{Error{png.error()}};
}

Result<Done> check_output(const TableOptions& options) {
    if (options.output.empty()) {
        return Done{};
    }
    if (options.passed.at("histogram").empty()) {
        return Error{ErrorCode::kUsage,
                     "--output: only histograms are drawn; add --histogram linear, log2 or cumulative"};
    }
    if (!options.output.ends_with(".svg") && !options.output.ends_with(".png")) {
        return Error{ErrorCode::kUsage, "--output: " + options.output + " ends neither in .svg nor in .png"};
    }
    return Done{};
}

std::string for_people(const std::string& command, const TableOptions& options, const Answer& answer) {
    const auto passed = [&](const char* name) {
        const auto option = options.passed.find(name);
        return option == options.passed.end() ? std::string{} : option->second;
    };
    if (command == "latency" && !passed("histogram").empty()) {
        return bars(answer, passed("histogram"));
    }
    const bool is_summary =
        command == "kernel-entries" && !answer.columns.empty() && answer.columns.back().name == "kernel_share";
    if ((command == "latency" && !options.is_table) || is_summary) {
        return format_figures(answer, kTerminalColumns);
    }
    if (command == "kernel-entries") {
        constexpr std::array<std::string_view, 2> kLeftOut{"syscall_id", "cap_type"};
        constexpr std::array<std::string_view, 5> kSpared{"sd", "fastpath", "image", "children_share", "children"};
        return format_sessions(answer, {kTerminalColumns, kLeftOut, kSpared});
    }
    if (command == "utilisation") {
        const bool has_one = std::all_of(answer.rows.begin(), answer.rows.end(), [](const auto& row) {
            return row.size() > 2 && row[2] == AnswerValue{std::uint64_t{1}};
        });
        constexpr std::array<std::string_view, 1> kLeftOut{"window"};
        constexpr std::array<std::string_view, 4> kSpared{"entries", "schedules", "kernel_cycles", "kernel_share"};
        return format_sessions(answer, {kTerminalColumns, std::span{kLeftOut}.first(has_one ? 1 : 0), kSpared});
    }
    if (command == "tracepoints" && answer.columns.front().name == "overhead") {
        // As seL4's documentation has it: figures without their unit.
        Answer plain = answer;
        for (AnswerColumn& column : plain.columns) {
            column.unit = column.unit == "percent" ? column.unit : "";
        }
        return format_report(plain, ReportFormat::kText);
    }
    if (command == "tracepoints") {
        constexpr std::array<std::string_view, 2> kLeftOut{"first", "last"};
        constexpr std::array<std::string_view, 2> kSpared{"weight", "sd"};
        return format_sessions(answer, {kTerminalColumns, kLeftOut, kSpared});
    }
    return format_report(answer, ReportFormat::kText);
}

int run(const std::string& command, const TableOptions& options) {
    if (const Result<Done> checked = check_output(options); !checked.ok()) {
        return report_error(checked.error());
    }
    Result<Answer> answer = ask(command, options);
    if (!answer.ok()) {
        return report_error(answer.error());
    }
    if (!options.output.empty()) {
        if (const Result<Done> written = write_figure(*answer, options); !written.ok()) {
            return report_error(written.error());
        }
        std::fprintf(stderr, "perfleet: %s: histogram of %llu values\n", printable(options.output).c_str(),
                     static_cast<unsigned long long>(answer->rows.empty() ? 0 : whole(answer->rows.back()[3])));
    }
    if (command == "tree" && options.format == "text") {
        indent(*answer);
    }
    const ReportFormat format = options.format == "json"  ? ReportFormat::kJson
                                : options.format == "csv" ? ReportFormat::kCsv
                                                          : ReportFormat::kText;
    const std::string report =
        format == ReportFormat::kText ? for_people(command, options, *answer) : format_report(*answer, format);
    return print_answer(*answer, report, options.format);
}

}  // namespace

void add_table_commands(CLI::App& app, Invocation& invocation) {
    const std::map<std::string, std::string> summaries{
        {"targets", "Hosts and boards that have sent data"},
        {"sessions", "Runs of collectors: when, of which events, how much"},
        {"controls", "What operators have changed of sessions while they ran"},
        {"losses", "What was produced, stored, expired and lost, and why"},
        {"top", "Where the time went: symbols, images, commands or threads by samples"},
        {"tree", "Who called whom: the call chains of the samples from the outermost function in"},
        {"counters", "Totals of counters"},
        {"tracepoints", "How often tracepoints were hit, what they measured, and what measuring itself costs"},
        {"kernel-entries", "Entries of a seL4 kernel: how many, which, how long"},
        {"utilisation", "Who had the core while a seL4 kernel counted"},
        {"latency", "What measured latencies say: percentiles, intervals, and reasons to doubt them"},
    };
    for (const auto& [name, summary] : summaries) {
        CLI::App* command = app.add_subcommand(name, summary);
        const auto options = std::make_shared<TableOptions>();
        options->query.add_to(*command, {.has_event = name != "targets" && name != "sessions" && name != "controls"});
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
            command->footer(
                "Shares are of samples: of n samples one is known to 100/sqrt(n) percentage points at\n"
                "worst, and an address may lie some instructions behind its cause (docs/statistics.md).");
            command->add_flag("--weight", options->sum_weights, "sum the event's unit instead of counting samples");
        }
        if (name == "kernel-entries") {
            add_kernel_entry_options(*command, *options);
        }
        if (name == "counters") {
            adder(*command, *options)("ratio", "of one event's value to another's of its group: -e '{A,B}'", "A/B");
        }
        if (name == "tracepoints") {
            add_tracepoint_options(*command, *options);
        }
        if (name == "latency") {
            add_latency_options(*command, *options);
        }
        command->callback([&invocation, options, command_name = name] {
            invocation.run = [options, command_name] { return run(command_name, *options); };
        });
    }
}

}  // namespace perfleet
