// stat: totals of events over runs of a program, as `perf stat` counts them, with the mean's interval over several
// runs.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/option/program_options.h"
#include "exporters/report/report.h"
#include "query-engine/statistic/number/interval.h"
#include "storage/number/moments.h"
#include "target-collector/linux/command_line.h"
#include "tools/perfleet/record/counted_run.h"
#include "tools/perfleet/shell/file_sink.h"
#include "tools/perfleet/shell/invocation.h"
#include "tools/perfleet/shell/print_answer.h"
#include "tools/perfleet/shell/terminal.h"

namespace perfleet {
namespace {

constexpr unsigned kRunsMax = 10'000;
constexpr std::uint32_t kIntervalMsMin = 10;
constexpr std::uint32_t kIntervalMsMax = 3'600'000;
constexpr double kDurationSecondsMin = 0.001;
constexpr double kDurationSecondsMax = 1e8;
constexpr long double kConfidence = 0.95L;
constexpr double kNsPerSecondReal = 1e9;
constexpr double kNsPerMillisecond = 1e6;
struct StatOptions {
    std::vector<std::string> events;
    unsigned run_count = 1;
    bool all_cpus = false;
    std::vector<std::uint32_t> pids;
    std::optional<double> duration_s;
    std::uint32_t interval_ms = 0;
    OutputOptions printing;
    std::string output;
    bool may_replace = false;
    std::vector<std::string> command;
};

struct Row {
    std::string name;
    std::string unit;
    Moments values;
    std::uint64_t enabled_ns = 0;
    std::uint64_t running_ns = 0;
    std::optional<Error> refused;
};

// The row's mean; 0 without values.
double mean_of(const Row& row) { return static_cast<double>(row.values.mean().value_or(0)); }

const Row* find(const std::vector<Row>& rows, std::string_view name) {
    for (const Row& row : rows) {
        if (row.name.substr(0, row.name.find(':')) == name && row.values.count() != 0) {
            return &row;
        }
    }
    return nullptr;
}

std::string rounded(double value) { return value < 1000 ? fmt::format("{:.3g}", value) : fmt::format("{:.0f}", value); }

// The note that perf prints beside an event.
std::string note_of(const Row& row, const std::vector<Row>& rows) {
    if (row.refused) {
        return row.refused->code == ErrorCode::kUnsupported  ? "not supported"
               : row.refused->code == ErrorCode::kPermission ? "not permitted"
                                                             : row.refused->message;
    }
    const Row* const clock = find(rows, "task-clock") != nullptr ? find(rows, "task-clock") : find(rows, "cpu-clock");
    const double elapsed_ns = mean_of(*find(rows, "elapsed"));
    if (&row == clock) {
        return rounded(mean_of(row) / elapsed_ns) + " CPUs";
    }
    for (const auto& [name, of, text] : {std::tuple{"instructions", "cycles", " per cycle"},
                                         std::tuple{"branch-misses", "branches", " of all branches"},
                                         std::tuple{"cache-misses", "cache-references", " of all references"}}) {
        if (const Row* const whole = find(rows, of);
            &row == find(rows, name) && whole != nullptr && mean_of(*whole) > 0) {
            return rounded(mean_of(row) / mean_of(*whole)) + text;
        }
    }
    if (row.unit == "ns" || row.values.count() == 0) {
        return "";
    }
    const double rate = mean_of(row) / ((clock != nullptr ? mean_of(*clock) : elapsed_ns) / kNsPerSecondReal);
    return std::isfinite(rate) ? rounded(rate) + "/s" : "";
}

// Shows times in milliseconds.
void show_milliseconds(Answer& answer) {
    for (std::vector<AnswerValue>& row : answer.rows) {
        if (row[2] != AnswerValue{"ns"}) {
            continue;
        }
        row[2] = "ms";
        for (std::size_t i = 0; i < answer.columns.size(); ++i) {
            const std::string& name = answer.columns[i].name;
            if (const auto* ns = std::get_if<std::uint64_t>(&row[i]); ns != nullptr && name != "runs") {
                row[i] = static_cast<double>(*ns) / kNsPerMillisecond;
            }
        }
    }
}

Answer answer_of(const std::vector<Row>& rows, unsigned run_count) {
    Answer answer;
    answer.columns = {{"event", ""}, {"value", ""}, {"unit", "", true}};
    if (run_count > 1) {
        answer.columns.insert(answer.columns.end(), {{"low", ""}, {"high", ""}, {"sd", "percent"}, {"runs", ""}});
    }
    answer.columns.insert(answer.columns.end(), {{"counted", "percent", true}, {"note", "", true}});
    for (const Row& row : rows) {
        const bool has_value = row.values.count() != 0;
        const auto whole = [](long double value) {
            return AnswerValue{static_cast<std::uint64_t>(std::llround(value))};
        };
        std::vector<AnswerValue> values{row.name, has_value ? whole(*row.values.mean()) : AnswerValue{},
                                        row.unit.empty() ? AnswerValue{} : AnswerValue{row.unit}};
        if (run_count > 1) {
            const auto interval = mean_interval(row.values, MeanBasis::kStudent, kConfidence);
            const auto spread = row.values.coefficient_of_variation();
            values.push_back(interval ? whole(std::max(interval->low, 0.0L)) : AnswerValue{});
            values.push_back(interval ? whole(interval->high) : AnswerValue{});
            values.push_back(spread ? AnswerValue{static_cast<double>(100 * *spread)} : AnswerValue{});
            values.emplace_back(row.values.count());
        }
        const bool is_shared = row.running_ns < row.enabled_ns;
        values.push_back(is_shared && has_value ? AnswerValue{100.0 * static_cast<double>(row.running_ns) /
                                                              static_cast<double>(row.enabled_ns)}
                                                : AnswerValue{});
        const std::string note = note_of(row, rows);
        values.push_back(note.empty() ? AnswerValue{} : AnswerValue{note});
        answer.rows.push_back(std::move(values));
    }
    return answer;
}

std::string table_of(const StatOptions& options, const Answer& answer) {
    return format_table(answer, screen_of(STDERR_FILENO, options.printing.color, options.printing.is_wide));
}

// Writes to the given file, else to standard error: standard output belongs to the program.
Result<Done> write_report(const StatOptions& options, const Answer& answer) {
    const bool is_text = options.printing.is_text();
    const auto report = [&] {
        return is_text ? format_table(answer, Screen{})
                       : format_report(answer,
                                       options.printing.format == "json" ? ReportFormat::kJson : ReportFormat::kCsv);
    };
    if (!options.output.empty()) {
        return write_file(options.output, report(),
                          options.may_replace ? ExistingFile::kReplace : ExistingFile::kRefuse);
    }
    if (!is_text) {
        std::fputs(report().c_str(), stderr);
    } else if (!answer.rows.empty()) {
        std::fputs(table_of(options, answer).c_str(), stderr);
    }
    if (options.printing.format != "json") {  // else the report contains them
        std::ranges::for_each(answer.warnings, print_warning);
    }
    return Done{};
}

std::vector<Row> rows_of(std::span<const EventSpec> events) {
    std::vector<Row> rows;
    for (const EventSpec& event : events) {
        rows.push_back({event.name, event.unit == "events" ? "" : event.unit, {}, 0, 0, {}});
    }
    for (const char* time : kRunTimes) {
        rows.push_back({time, "ns", {}, 0, 0, {}});
    }
    return rows;
}

// `before`: the counts at the start of this run; null: zero.
void add_run(const CountedRun& run, const CountedRun* before, std::vector<Row>& rows) {
    const std::size_t event_count = run.counts.size();
    for (std::size_t i = 0; i < event_count; ++i) {
        Row& row = rows[i];
        row.refused = run.refused[i];
        std::optional<EventCount> count = run.counts[i];
        if (const auto earlier = before != nullptr ? before->counts[i] : std::nullopt; count && earlier) {
            *count = {count->value - earlier->value, count->enabled_ns - earlier->enabled_ns,
                      count->running_ns - earlier->running_ns};
        }
        if (count && count->scaled()) {
            row.values.add(static_cast<std::uint64_t>(std::llround(*count->scaled())));
            row.enabled_ns += count->enabled_ns;
            row.running_ns += count->running_ns;
        }
    }
    for (std::size_t i = 0; i < run.times_ns.size(); ++i) {
        rows[event_count + i].values.add(run.times_ns[i] - (before != nullptr ? before->times_ns[i] : 0));
    }
}

// One row for each event and interval, with the interval's end first; printed at once, unless it goes to a file.
class Intervals {
public:
    Intervals(const StatOptions& options, std::span<const EventSpec> events) : options_{options}, events_{events} {}

    void add(const CountedRun& run_so_far) {
        std::vector<Row> rows = rows_of(events_);
        add_run(run_so_far, before_ ? &*before_ : nullptr, rows);
        Answer interval = answer_of(rows, 1);
        interval.rows.resize(events_.size());
        if (options_.printing.is_text()) {
            show_milliseconds(interval);
        }
        interval.columns.insert(interval.columns.begin(), {"time", "s"});
        for (std::vector<AnswerValue>& row : interval.rows) {
            row.insert(row.begin(), static_cast<double>(run_so_far.times_ns.front()) / kNsPerSecondReal);
        }
        before_ = run_so_far;
        if (options_.printing.is_text() && options_.output.empty()) {
            print(table_of(options_, interval));
            return;
        }
        all_.columns = interval.columns;
        if (all_.rows.size() + interval.rows.size() <= kIntervalRowsMax) {
            all_.rows.insert(all_.rows.end(), interval.rows.begin(), interval.rows.end());
        } else if (all_.warnings.empty()) {
            all_.warnings.push_back("only the first " + std::to_string(kIntervalRowsMax) + " counts are kept");
        }
    }

    // The rows that aren't printed yet.
    [[nodiscard]] Answer take() { return std::move(all_); }

private:
    static constexpr std::size_t kIntervalRowsMax = 1'000'000;

    // Prints the column names once, and again if their places change.
    void print(const std::string& table) {
        const std::size_t rows_at = table.find('\n') + 1;
        std::string names = table.substr(0, rows_at);
        std::fputs(names == names_ ? table.c_str() + rows_at : table.c_str(), stderr);
        names_ = std::move(names);
    }

    const StatOptions& options_;
    std::span<const EventSpec> events_;
    std::optional<CountedRun> before_;
    std::string names_;  // as last printed
    Answer all_;
};

Result<int> run_stat(const StatOptions& options) {
    const auto fail = [&](const Error& error) {
        (void)report_error(error);
        return exit_status_of(error, true);
    };
    const bool needs_command = (!options.all_cpus && options.pids.empty()) || options.run_count > 1;
    if (options.command.empty() && needs_command) {
        return fail(Error{ErrorCode::kUsage, options.run_count > 1 ? "-r: needs a COMMAND, after --"
                                                                   : "what is counted? -- COMMAND, -p PID or -a"});
    }
    if (options.duration_s && !options.command.empty()) {
        return fail(Error{ErrorCode::kUsage,
                          "--duration: a COMMAND is counted to its end; '-- timeout SECONDS COMMAND' ends it"});
    }
    const auto counted = PERFLEET_TRY(counted_events(options.events));
    const std::vector<EventSpec>& events = counted.events;
    std::vector<Row> rows = rows_of(events);
    Intervals intervals{options, events};
    CountedScope scope{options.all_cpus, options.pids};
    scope.interval_ms = options.interval_ms;
    scope.visit = [&](const CountedRun& run_so_far) { intervals.add(run_so_far); };
    if (options.duration_s) {
        scope.duration = std::chrono::nanoseconds{std::llround(*options.duration_s * kNsPerSecondReal)};
    }
    int exit_status = 0;
    int signal = 0;
    unsigned failed_count = 0;
    for (unsigned i = 0; i < options.run_count; ++i) {
        const Result<CountedRun> run = run_counted(options.command, events, scope);
        if (!run.ok()) {
            return fail(run.error());
        }
        add_run(*run, nullptr, rows);
        failed_count += run->exit_status == 0 ? 0 : 1;
        exit_status = exit_status == 0 ? run->exit_status : exit_status;
        if (run->signal != 0 || run->exit_status == 128 + SIGINT) {
            signal = run->signal;
            break;
        }
    }
    if (options.command.empty()) {
        rows.resize(events.size() + 1);  // without the times of a program
    }
    Answer answer = options.interval_ms != 0 ? intervals.take() : answer_of(rows, options.run_count);
    if (options.printing.is_text() && options.interval_ms == 0) {
        show_milliseconds(answer);
    }
    if (!counted.warning.empty()) {
        answer.warnings.push_back(counted.warning);
    }
    if (failed_count != 0) {
        answer.warnings.push_back(std::to_string(failed_count) + " of " + std::to_string(rows.back().values.count()) +
                                  " runs ended with a status other than 0; the first: " + std::to_string(exit_status));
    }
    PERFLEET_TRY(write_report(options, answer));
    return signal != 0 ? kEndBySignal + signal : exit_status;
}

}  // namespace

void add_stat_command(CLI::App& app, Invocation& invocation) {
    const auto [command, options] = add_command<StatOptions>(
        app, invocation, "stat", "Count events over runs of a program, without samples", run_stat);
    command->footer(
        "  perfleet stat [-e EVENTS] [-r RUNS] -- COMMAND...\n"
        "  perfleet stat [-e EVENTS] -a | -p PID [--duration S | -- COMMAND...]\n\n"
        "Standard output is COMMAND's; the table goes to standard error, or to the file of -o.\n"
        "With several runs low and high bound the mean at 95 % confidence. Rates are per\n"
        "second of task-clock, else of time elapsed.\n\n"
        "Examples:\n"
        "  perfleet stat -- xz -k -c some-file >/dev/null\n"
        "  perfleet stat -r 10 -e task-clock,page-faults -- sort some-file -o /dev/null\n"
        "  perfleet stat -a -I 1000 --duration 5\n\n"
        "Exit status: of several runs the first that isn't 0.");
    add_options(
        *command,
        {{"-e,--event EVENTS", options->events, "Events as for `perfleet record`, with commas between", is_one_each},
         {"-r,--repeat N", options->run_count, "Number of runs", is_between(1U, kRunsMax)},
         {"-I,--interval-print MS", options->interval_ms, "Print counts every so many milliseconds",
          is_between(kIntervalMsMin, kIntervalMsMax), excludes({"--repeat"})},
         {"-a,--all-cpus", options->all_cpus, "Everything on this machine, while COMMAND runs or until Ctrl-C"},
         {"-p,--pid PID", options->pids, "These processes, while COMMAND runs, or until they end or Ctrl-C",
          is_comma_list},
         {"--duration S", options->duration_s, "Stop after so many seconds, of -a and -p without COMMAND",
          is_between(kDurationSecondsMin, kDurationSecondsMax)}});
    add_options(*command, output_rows(options->printing));
    add_options(*command, {{"-j,--json-output", [options] { options->printing.format = "json"; }, "", is_hidden},
                           {"-x,--field-separator SEPARATOR",
                            [options](const std::string& separator) {
                                options->printing.format = "csv";
                                if (separator != ",") {
                                    print_note("-x: ignored: fields of CSV are separated by commas");
                                }
                            },
                            "", is_hidden}});
    add_options(*command, {{"-o,--output FILE", options->output, "Write the table to a file", is_not_empty},
                           force_row(options->may_replace),
                           {"command COMMAND", options->command, "The program to run, after --"}});
    command->positionals_at_end();
}

}  // namespace perfleet
