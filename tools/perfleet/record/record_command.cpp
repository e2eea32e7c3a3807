// record: profiles a program on this machine, and shows the result.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include "daemon/command-line/version.h"
#include "daemon/option/program_options.h"
#include "exporters/format/export_format.h"
#include "exporters/report/report.h"
#include "query-engine/scan/scan.h"
#include "query-engine/select/selection.h"
#include "query-engine/select/selection_options.h"
#include "query-engine/statistic/command.h"
#include "query-engine/statistic/session/coverage.h"
#include "query-engine/statistic/session/measure.h"
#include "schemas/host/host_clock.h"
#include "schemas/text/layout.h"
#include "schemas/text/utf8.h"
#include "schemas/vocabulary/log_event.h"
#include "storage/engine/rocksdb/folder_size.h"
#include "storage/store/open_store.h"
#include "target-collector/linux/command_line.h"
#include "tools/perfleet/query/idle_share.h"
#include "tools/perfleet/query/query_source.h"
#include "tools/perfleet/query/table_text.h"
#include "tools/perfleet/record/record.h"
#include "tools/perfleet/session/session_edit.h"
#include "tools/perfleet/shell/file_sink.h"
#include "tools/perfleet/shell/invocation.h"
#include "tools/perfleet/shell/terminal.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kGrownStoreBytes = 4ULL << 30U;  // from here on its size is mentioned
constexpr std::size_t kTopRowsMax = 20;
constexpr std::size_t kTopRowsMin = 5;
constexpr std::size_t kLinesBesideTop = 14;  // its headings, the ledger, warnings, what to do next

// Standard output belongs to the profiled program, so messages go to standard error. Failing to write them is no
// failure: the recording is stored.
void say(std::string_view text) { print_note(text, "perfleet record"); }

// Quotes a word for the shell if needed.
std::string shell_word(const std::string& text) {
    constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,.@%/";
    if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) {
        return text;
    }
    std::string word = "'";
    for (const char character : text) {
        word += character == '\'' ? std::string{"'\\''"} : std::string{character};
    }
    return word + "'";
}

// The recording, with the names by which a shell command finds it again.
struct Recorded {
    const StoreReader& store;
    SessionId session;
    std::string where;  // " --data DIR", unless it is the default
};

// The file of -o.
struct OutputFile {
    std::string name;
    const ExportFormat* format;
    OptionValues values;
    std::unique_ptr<FileSink> sink;  // null: none was asked for
};

// The number of rows that leaves the headings on the screen.
std::uint64_t top_row_count() {
    const std::size_t lines = terminal_lines(STDERR_FILENO);
    return lines == 0
               ? kTopRowsMax
               : std::clamp(lines, kLinesBesideTop + kTopRowsMin, kLinesBesideTop + kTopRowsMax) - kLinesBesideTop;
}

Result<Scan> scan_of(const StoreReader& store, const std::string& session) {
    Result<Selection> selection = read_selection(OptionValues{{"session", session}}, utc_now());
    if (selection.ok()) {
        selection->use = SessionUse::kProfile;
    }
    return selection.ok() ? Scan::open(store, *selection) : Result<Scan>{Error{selection.error()}};
}

// The cost of sampling in the program's time, if it is a tenth or more; empty: less. 4 us a sample: docs/benchmarks.md
std::string cost_text(const AnswerMeasure& measure, std::int64_t length_ns) {
    constexpr double kSampleCostNs = 4'000;
    constexpr double kPercentMin = 10;
    const bool is_time = measure.unit == "ns";
    const auto time_ns = static_cast<double>(is_time ? measure.total : length_ns);
    const std::uint64_t samples = measure.samples.value_or(0);
    const double percent = time_ns <= 0 ? 0 : 100 * kSampleCostNs * static_cast<double>(samples) / time_ns;
    return percent < kPercentMin ? ""
                                 : fmt::format("warning: {} take about {:.0f} % of the {}, at 4 us each: {}",
                                               counted_noun(samples, "sample"), std::min(percent, 100.0),
                                               is_time ? "program's time" : "recording",
                                               is_time ? "-F 999 takes fewer" : "--filter takes fewer, -c N each Nth");
}

// Whether the table has rows.
Result<bool> show_table(const Recorded& recorded, const std::string& command, OptionValues options) {
    options["session"] = session_hex(recorded.session);
    const auto answer = PERFLEET_TRY(run_query(command, options, recorded.store, SymbolPaths{}, utc_now()));
    if (answer.rows.empty()) {
        return false;
    }
    Screen screen = screen_of(STDERR_FILENO);
    const std::string whole = "perfleet " + command + " --wide";
    screen.way_to_see_all = whole;
    const auto format = table_text_of(command).format;
    const std::string text =
        format != nullptr ? format(answer, {}, screen) : format_report(answer, ReportFormat::kText, screen);
    for (const std::string& warning : answer.warnings) {
        if (options.contains("tid") && warning.starts_with("counts are of the rows")) {
            continue;  // the idle task's share is printed below
        }
        if (is_from_collector(warning)) {
            continue;
        }
        print_warning(warning);
    }
    if (const auto scan = scan_of(recorded.store, session_hex(recorded.session));
        answer.measure && scan.ok() && !scan->sessions().empty() && scan->sessions().front().end) {
        const ScannedSession& session = scan->sessions().front();
        const std::string cost = cost_text(
            *answer.measure, session.clock.utc_of(session.end->end_point.ticks).value - session.began().value);
        cost.empty() ? void() : say(cost);
    }
    std::fputs(text.c_str(), stderr);  // its last line has the counts of stored and lost rows
    return true;
}

// The option that selects the session; empty for the last one, which needs none yet.
std::string session_option(const Recorded& recorded) {
    const Result<Scan> last = scan_of(recorded.store, "last");
    const bool is_last =
        last.ok() && !last->sessions().empty() && last->sessions().front().record.session == recorded.session;
    return is_last ? "" : " --session " + session_hex(recorded.session);
}

Result<Done> write_output(const Recorded& recorded, const OutputFile& output, bool is_quiet) {
    const auto scan = PERFLEET_TRY(scan_of(recorded.store, session_hex(recorded.session)));
    const Result<QueryEnd> written =
        output.format->write({scan, SymbolPaths{}, output.values, utc_now()}, *output.sink);
    if (!written.ok() && written.error().code == ErrorCode::kNotFound) {
        say("warning: -o " + shell_word(output.name) + ": not written, there are no samples");
        return Done{};
    }
    if (!written.ok()) {
        return Error{written.error()};
    }
    PERFLEET_TRY(output.sink->commit(written->modified));
    if (!is_quiet) {
        say(output.name + ": " + printable(written->summary) + " (" + output.format->summary + ")");
    }
    return Done{};
}

// Called when the session is stored: writes the file and shows the first answer.
Result<Done> show_recorded(const Recorded& recorded, const CommandLine& line, const OutputFile& output,
                           bool is_of_machine) {
    if (output.sink != nullptr) {
        PERFLEET_TRY(write_output(recorded, output, line.is_quiet));
    }
    if (line.is_quiet) {
        return Done{};
    }
    OptionValues values{{"limit", top_row_count()}};
    const OptionValues session{{"session", session_hex(recorded.session)}};
    const auto idle =
        is_of_machine ? idle_percent(run_query("top", busy_or_idle(session), recorded.store, SymbolPaths{}, utc_now()))
                      : std::nullopt;
    if (idle && *idle > 0) {
        values["tid"] = kAllButIdle;
    }
    const auto shown = PERFLEET_TRY(show_table(recorded, "top", std::move(values)));
    if (idle && *idle > 0) {
        say(fmt::format("idle: {:.1f} % of the samples, left out here; perfleet top shows them, too", *idle));
    }
    if (!shown) {
        // Only probes were recorded.
        const Result<bool> counted = show_table(recorded, "tracepoints", {});
        if (!counted.ok() || *counted) {
            std::fprintf(stderr, "Next: perfleet latency%s%s\n", session_option(recorded).c_str(),
                         recorded.where.c_str());
            return counted.ok() ? Result<Done>{Done{}} : Error{counted.error()};
        }
        say(no_samples_text(PERFLEET_TRY(scan_of(recorded.store, session_hex(recorded.session)))));
        return Done{};
    }
    const std::string next = output.sink != nullptr && output.format->name == "perf.data"
                                 ? "perf report -i " + shell_word(output.name)
                                 : "perfleet export --to perf.data -o perf.data" + session_option(recorded) +
                                       recorded.where + " && perf report -i perf.data";
    std::fprintf(stderr, "Next: %s\n", next.c_str());
    return Done{};
}

// Before the program starts, so that it doesn't run in vain if the file can't be written.
Result<OutputFile> open_output(const std::string& file) {
    const ExportFormat* const chosen = format_of_file(file);
    OutputFile output{file, chosen == nullptr ? find_export_format("perf.data") : chosen, {}, nullptr};
    if (file == "-") {
        return Error{ErrorCode::kUsage, "-o -: standard output is the command's; name a file"};
    }
    if (!file.empty()) {
        PERFLEET_TRY(follow_file_name(*output.format, file, output.values));
        output.sink = PERFLEET_TRY(FileSink::create(file, ExistingFile::kKeepOld));
    }
    return output;
}

bool has_rows(const std::string& folder, SessionId session) {
    const auto store = open_store_reader(folder);
    const auto scan = store.ok() ? scan_of(**store, session_hex(session)) : Result<Scan>{Error{store.error()}};
    return scan.ok() && !scan->sessions().empty() && !scan->sessions().front().series.empty();
}

// Names the recorded session.
Result<Done> give_name(const std::string& folder, const StoreReader& store, SessionId session,
                       const std::string& given_name) {
    const Result<Scan> scan = scan_of(store, session_hex(session));
    return scan.ok() ? name_session(folder, scan->sessions().front().record, given_name) : Error{scan.error()};
}

struct RecordOptions {
    CommandLine line;
    std::string given_name;
};

Result<int> run_record(RecordOptions& options_of_command) {
    const std::string& given_name = options_of_command.given_name;
    if (const auto checked = given_name.empty() ? Done{} : check_given_name(given_name); !checked.ok()) {
        return Error{ErrorCode::kUsage, "--name: " + checked.error().message};
    }
    Result<std::optional<CommandLine>> line = finish_command_line(std::move(options_of_command.line));
    if (!line.ok()) {
        say(line.error().message);
        return exit_status_of(line.error(), false);
    }
    if (!line->has_value()) {
        return 0;
    }
    CollectorOptions options = std::move((*line)->options);
    const bool has_command = !options.command.empty();
    const bool is_of_machine = options.all_cpus;
    const bool is_default_folder = (*line)->data_folder.empty();
    const auto folder = PERFLEET_TRY(writable_data_folder_of((*line)->data_folder, true));
    const auto output = PERFLEET_TRY(open_output((*line)->output_file));
    const bool is_quiet = (*line)->is_quiet;
    LiveLine live_line;
    const auto log = [is_quiet, &live_line](const LogEvent& event) {
        if (!is_quiet || event.level() == LogLevel::kError) {
            live_line.write([&] { say(event.text()); });
        }
    };
    // A command may write to the same terminal.
    const bool has_live_line = LiveLine::is_possible() && !has_command && !is_quiet;
    for (const std::string& note : (*line)->notes) {
        log(note);
    }
    const Result<Recording> recording = record(std::move(options), folder, log, has_live_line ? &live_line : nullptr);
    std::signal(SIGPIPE, SIG_IGN);  // not earlier: the command would have inherited it
    if (!recording.ok()) {
        say(recording.error().message);
        return exit_status_of(recording.error(), has_command);
    }
    const CollectorSummary& summary = recording->summary;
    const bool is_stored = summary.everything_acknowledged && !recording->not_stored;
    log({is_stored ? LogLevel::kNotice : LogLevel::kError, "end", summary_line(summary)});
    const std::string where = is_default_folder ? "" : " --data " + shell_word(folder);
    if (const auto size = size_of_folder(folder); !is_quiet && size && size->used_bytes > kGrownStoreBytes) {
        say(fmt::format("the store takes {:.1f} GiB: 'perfleet sessions gc --keep 2g{}' removes the oldest sessions",
                        static_cast<double>(size->used_bytes) / (1U << 30U), where));
    }
    if (!recording->unstored_file.empty()) {
        say("the rest was not stored within --exit-wait" +
            (recording->not_stored ? ": " + recording->not_stored->message : "") + "; it is kept in " +
            recording->unstored_file + ", and the next perfleet record that finds no gateway at " + folder +
            " stores it");
        return kExitFailure;
    }
    if (recording->not_stored) {
        say(recording->not_stored->message + "; the rest is lost. Free space in " + folder +
            ", or record into another folder with --data; of this one " +
            (has_rows(folder, summary.session)
                 ? "there is: perfleet top --session " + session_hex(summary.session) + where
                 : "nothing is stored"));
        return kExitFailure;
    }
    if (!is_quiet || !given_name.empty() || output.sink != nullptr) {
        const auto store = PERFLEET_TRY(open_store_reader(folder));
        if (!given_name.empty()) {
            PERFLEET_TRY(give_name(folder, *store, summary.session, given_name));
        }
        PERFLEET_TRY(show_recorded({*store, summary.session, where}, **line, output, is_of_machine));
        if (!is_quiet) {
            const std::string text =
                "Stored: session " + session_hex(summary.session).substr(0, 8) + " in " + printable(folder);
            std::fprintf(stderr, "%s\n", wrapped(text, screen_of(STDERR_FILENO).width_columns, "  ").c_str());
        }
    }
    // As perf: if a signal has ended the program, this one ends by it, too. Without a command, Ctrl-C and SIGTERM are
    // the usual end.
    const int signal = recording->signal;
    const bool ends_by_signal = signal != 0 && (has_command || (signal != SIGINT && signal != SIGTERM));
    return !summary.everything_acknowledged ? kExitFailure
           : ends_by_signal                 ? kEndBySignal + signal
                                            : summary.command_exit_status;
}

}  // namespace

void add_record_command(CLI::App& app, Invocation& invocation) {
    const auto run = [&invocation](RecordOptions& options) {
        options.line.options.own_command_line = invocation.command_line();
        return run_record(options);
    };
    const auto [command, options] = add_command<RecordOptions>(app, invocation, "record", "", run);
    describe_command_line(CommandLineForm::kRecord, *command, options->line);
    command->set_version_flag("--version", version_line("perfleet record"));
    add_options(*command, {{"--name NAME", options->given_name, "name of the session, by which --session finds it"}});
}

}  // namespace perfleet
