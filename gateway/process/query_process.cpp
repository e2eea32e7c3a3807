#include "gateway/process/query_process.h"
#include "schemas/host/file_descriptor.h"
#include "schemas/host/host_clock.h"
#include "schemas/host/wake_event.h"
#include "schemas/vocabulary/non_copyable.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <future>
#include <mutex>
#include <optional>
#include <thread>

namespace perfleet {
namespace {

constexpr std::size_t kLineSizeBytesMax = 4'096;
constexpr std::uint64_t kNsPerMs = 1'000'000;
constexpr int kNiceness = 10;  // added to the gateway's: where processors are short, ingest goes first

struct QueryAddresses {
    std::string endpoint;
    std::string http;  // empty: none
};

// One run of the program. The destructor kills it.
class Run : NonCopyable {
public:
    Run(pid_t pid, FileDescriptor output) : pid_{pid}, output_{std::move(output)} {}
    ~Run() { stop(); }

    [[nodiscard]] int output() const { return output_.get(); }

    // Reads the available output; false at its end.
    bool read_output() {
        std::array<char, 512> buffer{};
        const ssize_t size = read(output_.get(), buffer.data(), buffer.size());
        if (size <= 0) {
            return size < 0 && errno == EINTR;
        }
        for (const char c : std::string_view{buffer.data(), static_cast<std::size_t>(size)}) {
            if (c == '\n') {
                take_line();
                line_.clear();
            } else if (line_.size() < kLineSizeBytesMax) {
                line_ += c;
            }
        }
        return true;
    }

    // Of the line `ready query=ENDPOINT http=HOST:PORT`, once it was read.
    [[nodiscard]] const std::optional<QueryAddresses>& addresses() const { return addresses_; }

    // The counts of the last line that has them.
    [[nodiscard]] const TransportCounts& transport_counts() const { return transport_counts_; }

    // Ends the program if it still runs, and describes how it ended.
    std::string stop() {
        if (pid_ <= 0) {
            return ending_;
        }
        int status = 0;
        kill(pid_, SIGTERM);
        const std::uint64_t deadline_ns = monotonic_now_ns() + QueryProcess::kStopWithinNs;
        pid_t reaped = 0;
        while ((reaped = waitpid(pid_, &status, WNOHANG)) == 0 && monotonic_now_ns() < deadline_ns) {
            poll(nullptr, 0, 5);
        }
        if (reaped == 0) {
            kill(pid_, SIGKILL);
            while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
            }
        }
        ending_ = WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                      : "exit status " + std::to_string(WEXITSTATUS(status));
        pid_ = -1;
        return ending_;
    }

private:
    void take_line() {
        constexpr std::string_view kReady = "ready query=";
        constexpr std::string_view kHttp = " http=";
        if (!addresses_.has_value() && line_.starts_with(kReady)) {
            const std::string rest = line_.substr(kReady.size());
            const std::size_t end = std::min(rest.find(kHttp), rest.size());
            addresses_ = {rest.substr(0, end), end == rest.size() ? "" : rest.substr(end + kHttp.size())};
        } else if (const auto counts = parse_counts(line_)) {
            transport_counts_ = *counts;
        }
    }

    pid_t pid_;
    FileDescriptor output_;
    std::string line_;  // an incomplete line of output
    std::optional<QueryAddresses> addresses_;
    TransportCounts transport_counts_;
    std::string ending_;
};

Result<std::unique_ptr<Run>> fork_program(const QueryProcess::Options& options, const QueryAddresses& listen) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
        return error_from_errno(errno, "pipe");
    }
    FileDescriptor read_end{ends[0]};
    const FileDescriptor write_end{ends[1]};
    std::vector<const char*> arguments{options.program.c_str(), "--data",         options.data.c_str(), "--listen",
                                       listen.endpoint.c_str(), "--report-counts"};
    if (!options.config_file.empty()) {
        arguments.insert(arguments.end(), {"--config", options.config_file.c_str()});
    }
    if (!options.key_file.empty()) {
        arguments.insert(arguments.end(),
                         {"--key", options.key_file.c_str(), "--query-clients", options.clients_folder.c_str()});
    }
    if (!listen.http.empty()) {
        arguments.insert(arguments.end(), {"--http", listen.http.c_str()});
        for (const std::string& argument : options.http_arguments) {
            arguments.push_back(argument.c_str());
        }
    }
    arguments.insert(arguments.end(),
                     {"--log-level", options.log_level.c_str(), "--log-format", options.log_format.c_str()});
    arguments.push_back(nullptr);
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid < 0) {
        return error_from_errno(errno, "fork");
    }
    if (pid == 0) {
        // Only async-signal-safe calls: other threads may hold locks. At once: the next gateway's query process would
        // not know of pushed profiles that this one still passed on.
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, nullptr);
        signal(SIGPIPE, SIG_DFL);
        (void)setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + kNiceness);
        if (getppid() != parent || dup2(write_end.get(), STDOUT_FILENO) < 0) {
            _exit(126);
        }
        execv(options.program.c_str(), const_cast<char* const*>(arguments.data()));
        _exit(127);
    }
    return std::make_unique<Run>(pid, std::move(read_end));
}

class WatchedQueryProcess final : public QueryProcess {
public:
    explicit WatchedQueryProcess(Options options) : options_{std::move(options)} {}

    ~WatchedQueryProcess() override {
        if (watcher_.joinable()) {
            stop_.signal();
            watcher_.join();
        }
    }

    Result<Done> begin() {
        if (access(options_.program.c_str(), X_OK) != 0) {
            return Error{ErrorCode::kNotFound,
                         options_.program + ": " + std::strerror(errno) +
                             "; install it beside the gateway, or go without queries: --query none"};
        }
        if (!stop_) {
            return error_from_errno(errno, "eventfd");
        }
        std::promise<Result<QueryAddresses>> first;
        auto ready = first.get_future();
        watcher_ = std::thread{[this, &first] { watch(first); }};
        addresses_ = PERFLEET_TRY(ready.get());
        return Done{};
    }

    const std::string& endpoint() const override { return addresses_.endpoint; }
    const std::string& http_address() const override { return addresses_.http; }
    std::uint64_t restart_count() const override { return restart_count_.load(std::memory_order_relaxed); }
    TransportCounts transport_counts() const override {
        const std::scoped_lock lock{counts_mutex_};
        return transport_counts_;
    }

private:
    enum class Event : std::uint8_t { kStop, kOutput, kEnd, kTimeOut };

    // Waits for output of `run` (may be null), the stop signal, or the time.
    Event next_event(Run* run, std::uint64_t until_ns) {
        while (true) {
            std::array<pollfd, 2> descriptors{
                {{stop_.fd(), POLLIN, 0}, {run == nullptr ? -1 : run->output(), POLLIN, 0}}};
            const std::uint64_t now = monotonic_now_ns();
            if (now >= until_ns) {
                return Event::kTimeOut;
            }
            const std::uint64_t left_ms = std::min<std::uint64_t>((until_ns - now) / kNsPerMs + 1, 60'000);
            poll(descriptors.data(), descriptors.size(), static_cast<int>(left_ms));
            if (descriptors[0].revents != 0) {
                return Event::kStop;
            }
            if (run != nullptr && descriptors[1].revents != 0) {
                const bool goes_on = run->read_output();
                const std::scoped_lock lock{counts_mutex_};
                transport_counts_ = run->transport_counts();
                return goes_on ? Event::kOutput : Event::kEnd;
            }
        }
    }

    // Starts the program and waits until it is ready.
    Result<QueryAddresses> start_run(std::unique_ptr<Run>& run, const QueryAddresses& listen) {
        run = PERFLEET_TRY(fork_program(options_, listen));
        const std::uint64_t deadline_ns = monotonic_now_ns() + kReadyWithinNs;
        while (true) {
            switch (next_event(run.get(), deadline_ns)) {
                case Event::kOutput:
                    if (run->addresses().has_value()) {
                        return *run->addresses();
                    }
                    break;
                case Event::kEnd:
                    return Error{ErrorCode::kIo, options_.program + " ended before it was ready (" + run->stop() +
                                                     "); its own messages are above"};
                case Event::kTimeOut:
                    return Error{ErrorCode::kUnavailable, options_.program + " was not ready within " +
                                                              std::to_string(kReadyWithinNs / 1'000'000'000) + " s"};
                case Event::kStop: return Error{ErrorCode::kCancelled, "stopped"};
            }
        }
    }

    void watch(std::promise<Result<QueryAddresses>>& first) {
        std::unique_ptr<Run> run;
        auto addresses = start_run(run, {options_.listen, options_.http});
        const bool is_ready = addresses.ok();
        const QueryAddresses listen = is_ready ? *addresses : QueryAddresses{};
        if (!is_ready) {
            run.reset();
        }
        first.set_value(std::move(addresses));  // `first` must not be used from here on
        if (is_ready) {
            keep_running(run, listen);
        }
    }

    // Restarts the program whenever it ends, after ever longer pauses while runs are short, until the stop.
    void keep_running(std::unique_ptr<Run>& run, const QueryAddresses& listen) {
        std::uint64_t restart_after_ns = kRestartAfterNsMin;
        while (true) {
            const std::uint64_t started_ns = monotonic_now_ns();
            Event event = Event::kOutput;
            while (run != nullptr && (event == Event::kOutput || event == Event::kTimeOut)) {
                event = next_event(run.get(), monotonic_now_ns() + kReadyWithinNs);
            }
            if (event == Event::kStop) {
                return;
            }
            std::string what = "it could not be started";
            if (run != nullptr) {
                what = run->stop();
                run.reset();
            }
            if (monotonic_now_ns() - started_ns > kRestartAfterNsMax) {
                restart_after_ns = kRestartAfterNsMin;
            }
            restart_count_.fetch_add(1, std::memory_order_relaxed);
            options_.log({LogLevel::kWarning, "query_process",
                          "the query process ended (" + what + "); it is started again in " +
                              std::to_string(restart_after_ns / kNsPerMs) + " ms"});
            if (next_event(nullptr, monotonic_now_ns() + restart_after_ns) == Event::kStop) {
                return;
            }
            restart_after_ns = std::min(2 * restart_after_ns, kRestartAfterNsMax);
            if (auto again = start_run(run, listen); !again) {
                if (again.error().code == ErrorCode::kCancelled) {
                    return;
                }
                options_.log({LogLevel::kError, "query_process", again.error().message});
                run.reset();
            } else {
                options_.log({LogLevel::kNotice, "query_process", "the query process answers again"});
            }
        }
    }

    Options options_;
    QueryAddresses addresses_;
    WakeEvent stop_;
    std::atomic<std::uint64_t> restart_count_{0};
    mutable std::mutex counts_mutex_;
    TransportCounts transport_counts_;
    std::thread watcher_;
};

}  // namespace

Result<std::unique_ptr<QueryProcess>> QueryProcess::start(Options options) {
    auto process = std::make_unique<WatchedQueryProcess>(std::move(options));
    PERFLEET_TRY(process->begin());
    return std::unique_ptr<QueryProcess>{std::move(process)};
}

}  // namespace perfleet
