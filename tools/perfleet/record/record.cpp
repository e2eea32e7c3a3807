#include "tools/perfleet/record/record.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "daemon/start/program_start.h"
#include "schemas/host/host_clock.h"
#include "schemas/peers/local_socket.h"
#include "target-collector/linux/host/progress.h"
#include "target-collector/linux/link/clock_relation.h"
#include "tools/perfleet/session/local_gateway.h"

namespace perfleet {
namespace {

constexpr std::uintmax_t kFreeForSymbolsBytesMin = 64U << 20U;

// The collector that signals stop, and the first signal that did (0: none); signal handlers take no other arguments.
std::atomic<Collector*> signalled{nullptr};
std::atomic<int> first_signal{0};

void on_signal(int signal) {
    // Two SIGHUPs often come together: the second one doesn't mean that the user wants to stop at once.
    int none = 0;
    const bool is_again = !first_signal.compare_exchange_strong(none, signal) && signal == SIGHUP;
    if (Collector* collector = signalled.load(); collector != nullptr && !is_again) {
        collector->stop();
    }
}

// Keeps SIGINT, SIGTERM, SIGQUIT and SIGHUP (unless nohup ignores it) from ending this program, because opening takes a
// while, and passes them to a collector.
class SignalsStop {
public:
    SignalsStop() {
        first_signal = 0;
        for (const int signal : {SIGINT, SIGTERM, SIGQUIT, SIGHUP}) {
            take(signal, signal == SIGHUP && is_signal_ignored(SIGHUP) ? SIG_IGN : on_signal);
        }
    }
    ~SignalsStop() {
        for (const auto& [signal, action] : before_) {
            sigaction(signal, &action, nullptr);
        }
        signalled = nullptr;
    }
    SignalsStop(const SignalsStop&) = delete;
    SignalsStop& operator=(const SignalsStop&) = delete;

    // The command has started and inherits nothing more. The reader of this program's output may hang up: the recording
    // must be stored all the same.
    void pass_to(Collector& collector) {
        take(SIGPIPE, SIG_IGN);
        sigset_t all;
        sigset_t before;
        sigfillset(&all);
        ::pthread_sigmask(SIG_BLOCK, &all, &before);  // so that each signal stops it once
        signalled = &collector;
        if (first_signal != 0) {
            collector.stop();
        }
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }

private:
    void take(int signal, void (*handler)(int)) {
        struct sigaction action {};
        sigemptyset(&action.sa_mask);
        action.sa_handler = handler;
        sigaction(signal, &action, &before_.emplace_back(signal, action).second);
    }

    std::vector<std::pair<int, struct sigaction>> before_;
};

// The files, sorted by time.
std::string unstored_file(const std::string& data_folder) {
    return unstored_folder(data_folder) + "/" + std::to_string(utc_now().value) + "-" + std::to_string(getpid()) +
           ".frames";
}

}  // namespace

Result<Recording> record(CollectorOptions options, const std::string& data_folder, const LogSink& log,
                         LiveLine* live_line) {
    options.reader_program = "/proc/self/exe";
    auto gateway = PERFLEET_TRY(LocalGateway::open(data_folder, log));
    std::error_code error;
    if (const auto space = std::filesystem::space(data_folder, error);
        !error && options.keeps_symbols && space.available < kFreeForSymbolsBytesMin) {
        options.keeps_symbols = false;
        log({LogLevel::kWarning, "symbols",
             "warning: the symbols of sampled files are not kept: " + std::to_string(space.available >> 20U) +
                 " MiB are free in " + data_folder + ", which are left to rows"});
    }
    const auto socket = PERFLEET_TRY(LocalSocket::in(data_folder, kGatewaySocketName));
    options.gateways = {socket.endpoint()};
    options.is_symbol_rate_limited = false;
    options.gateway_name = "the store in " + data_folder;
    const std::string unstored = unstored_file(data_folder);
    options.unacknowledged_file = unstored;

    SignalsStop signals;
    // Opened before the gateway's thread starts: the process that forks the command should have few threads.
    auto collector = PERFLEET_TRY(Collector::open(std::move(options), log));
    gateway->start();
    Result<CollectorSummary> summary = [&] {
        signals.pass_to(*collector);
        if (live_line != nullptr) {
            live_line->start(
                [&running = *collector, progress = Progress{monotonic_now().value}](std::size_t column_count) mutable {
                    return progress.for_terminal(running.counts(), running.peer(), monotonic_now().value, column_count);
                });
        }
        return collector->run();
    }();
    if (live_line != nullptr) {
        live_line->stop();
    }
    const std::optional<Error> failed = gateway->stop();
    if (!summary.ok()) {
        return std::move(summary).error();
    }
    Recording recording{std::move(summary).value(), first_signal.load(), std::nullopt, {}};
    if (!recording.summary.everything_acknowledged) {
        recording.not_stored = failed;
    }
    if (recording.summary.is_rest_in_file) {
        recording.unstored_file = unstored;
    }
    return recording;
}

}  // namespace perfleet
