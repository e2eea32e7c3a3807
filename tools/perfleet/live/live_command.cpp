#include "tools/perfleet/live/live_command.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <list>
#include <mutex>
#include <string_view>
#include <vector>

#include "query-engine/select/selection.h"
#include "schemas/host/host_clock.h"
#include "target-collector/linux/command_line.h"
#include "tools/perfleet/live/live_view.h"
#include "tools/perfleet/query/table_text.h"
#include "tools/perfleet/shell/invocation.h"
#include "tools/perfleet/shell/redirected_output.h"
#include "tools/perfleet/shell/terminal.h"
#include "tools/perfleet/shell/watch.h"

namespace perfleet {
namespace {

constexpr std::size_t kLinesBesideRows = 6;  // the line above the table, its headings, and the lines below
constexpr std::uint64_t kRowsOffTerminal = 40;

void say(std::string_view text) { print_note(text, "perfleet top"); }

// A new file of the command's standard output or error.
struct CommandOutput {
    std::string path;
    FileDescriptor file;

    static Result<CommandOutput> create(const char* ending) {
        const char* const folder = std::getenv("TMPDIR");
        std::string path =
            std::string{folder == nullptr || folder[0] == '\0' ? "/tmp" : folder} + "/perfleet-top-XXXXXX." + ending;
        FileDescriptor file{::mkostemps(path.data(), static_cast<int>(std::string_view{ending}.size()) + 1, O_CLOEXEC)};
        if (!file) {
            return error_from_errno(errno, path);
        }
        return CommandOutput{std::move(path), std::move(file)};
    }
    // The path of a file with content; others are removed.
    [[nodiscard]] std::optional<std::string> finish() const {
        struct stat status {};
        if (::fstat(file.get(), &status) != 0 || status.st_size != 0) {
            return path;
        }
        ::unlink(path.c_str());
        return std::nullopt;
    }
};

// Messages of the collector: held back while standard error is the command's, or the view has the terminal.
class Messages {
public:
    Messages() = default;
    ~Messages() { release(); }
    Messages(const Messages&) = delete;
    Messages& operator=(const Messages&) = delete;

    void take(const LogEvent& event) {
        constexpr std::size_t kHeldMax = 32;
        const std::lock_guard lock{mutex_};
        if (event.kind() == "end") {  // which isn't stored, because no session is
            return;
        }
        if (!are_held_) {
            say(event.text());
        } else if (held_.size() < kHeldMax) {
            held_.emplace_back(event.text());
        }
    }
    void release() {
        const std::lock_guard lock{mutex_};
        are_held_ = false;
        std::for_each(held_.begin(), held_.end(), say);
        held_.clear();
    }

private:
    std::mutex mutex_;
    bool are_held_ = true;
    std::vector<std::string> held_;
};

bool has_view(const OutputOptions& printing) {
    const char* const terminal = std::getenv("TERM");
    return printing.is_text() && ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1 && terminal != nullptr &&
           *terminal != '\0' && std::string_view{terminal} != "dumb";
}

Result<std::unique_ptr<LiveProfile>> start(const LiveOptions& options, bool has_view, std::list<CommandOutput>& outputs,
                                           LogSink log) {
    std::list<RedirectedOutput> redirected;
    if (!options.collector.command.empty()) {  // it inherits them at once
        for (const auto& [ending, descriptor] : {std::pair{"out", STDOUT_FILENO}, std::pair{"err", STDERR_FILENO}}) {
            outputs.push_back(PERFLEET_TRY(CommandOutput::create(ending)));
            redirected.emplace_back(outputs.back().file.get(), descriptor);
        }
        const FileDescriptor nothing{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
        if (has_view) {
            redirected.emplace_back(nothing.get(), STDIN_FILENO);
        }
        return LiveProfile::start(options.collector, options.memory_size_bytes, options.paths, std::move(log));
    }
    return LiveProfile::start(options.collector, options.memory_size_bytes, options.paths, std::move(log));
}

// Waits until the collection has ended, a signal has come, or the time is over. True: there is nothing more to wait
// for.
bool wait_until(UtcNs time, int stop_fd, const LiveProfile& profile) {
    for (;;) {
        constexpr std::int64_t kNsPerMs = 1'000'000;
        const std::int64_t left_ms = (time.value - utc_now().value + kNsPerMs - 1) / kNsPerMs;
        pollfd events[2]{{stop_fd, POLLIN, 0}, {profile.end_fd(), POLLIN, 0}};
        const int ready = ::poll(events, 2, static_cast<int>(std::clamp<std::int64_t>(left_ms, 0, INT32_MAX)));
        if (ready > 0 || left_ms <= 0) {
            return ready > 0;
        }
    }
}

Result<Done> print_table(LiveProfile& profile, const LiveOptions& options, const OutputOptions& printing,
                         const LiveProfile::Range& range, bool is_first) {
    const auto answer = PERFLEET_TRY(profile.ask("top", live_values(options), range));
    const std::string head =
        format_time(range.until).substr(0, 19) + "Z  " + live_head(profile, options, range, answer) + "\n";
    if (!printing.is_text()) {
        return print_answer(answer, printing);
    }
    std::string table = answer.rows.empty() ? "" : table_text_of("top").format(answer, {}, printing.screen());
    table = table.substr(0, table.find("\n\n") + 1);  // without the ledger, which the first line has
    return print_text((is_first ? "" : "\n") + head + table);
}

Result<Done> print_tables(LiveProfile& profile, const LiveOptions& options, const OutputOptions& printing,
                          int stop_fd) {
    UtcNs from = profile.began();
    for (bool is_first = true, is_last = false; !is_last; is_first = false) {
        UtcNs until{from.value + options.period_ns()};
        is_last = wait_until({until.value + LiveProfile::kDelayNs}, stop_fd, profile);
        if (is_last) {
            profile.stop();
            (void)profile.finish();
            until = std::max(UtcNs{from.value + 1}, utc_now());
        }
        const UtcNs shown_from = options.is_total ? profile.began() : from;
        PERFLEET_TRY(print_table(profile, options, printing, {shown_from, until}, is_first));
        from = until;
    }
    return Done{};
}

}  // namespace

Result<int> run_live(LiveOptions options, const OutputOptions& printing) {
    const bool is_viewed = has_view(printing);
    const bool has_command = !options.collector.command.empty();
    const int stop_fd = catch_stop_signals({SIGINT, SIGTERM, SIGQUIT, SIGHUP});
    std::list<CommandOutput> outputs;
    Messages messages;
    auto started = start(options, is_viewed, outputs, [&messages](const LogEvent& event) { messages.take(event); });
    if (!started.ok()) {
        messages.release();
        for (const CommandOutput& output : outputs) {
            (void)output.finish();
        }
        say(started.error().message);
        return exit_status_of(started.error(), has_command);
    }
    LiveProfile& profile = **started;
    if (!is_viewed) {
        messages.release();
    }
    OutputOptions shown = printing;
    shown.has_no_pager = true;
    if (!is_viewed && printing.is_text()) {
        const std::size_t lines = terminal_lines(STDOUT_FILENO);
        const std::uint64_t rows = lines > 2 * kLinesBesideRows ? lines - kLinesBesideRows : kRowsOffTerminal;
        options.values.try_emplace("limit", rows);
    }
    const Result<Done> done =
        is_viewed ? run_view(profile, options, shown, stop_fd) : print_tables(profile, options, shown, stop_fd);
    profile.stop();
    const Result<CollectorSummary>& summary = profile.finish();
    for (const CommandOutput& output : outputs) {
        if (const auto path = output.finish()) {
            say("the command's output is in " + *path);
        }
    }
    if (!done.ok()) {
        return Error{done.error()};
    }
    if (!summary.ok()) {
        say(summary.error().message);
        return exit_status_of(summary.error(), has_command);
    }
    const int signal = first_stop_signal();
    const bool ends_by_signal = signal != 0 && (has_command || (signal != SIGINT && signal != SIGTERM));
    return ends_by_signal ? kEndBySignal + signal : summary->command_exit_status;
}

}  // namespace perfleet
