#include "tools/perfleet/record/record.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <utility>

#include "daemon/start/program_start.h"
#include "schemas/host/host_clock.h"
#include "schemas/peers/local_socket.h"
#include "target-collector/linux/host/progress.h"
#include "target-collector/linux/link/clock_relation.h"
#include "tools/perfleet/session/local_gateway.h"

namespace perfleet {
namespace {

// The collector that signals stop, and whether it is stopping; signal handlers take no other arguments.
std::atomic<Collector*> signalled{nullptr};
std::atomic<bool> is_stopping{false};

void on_signal(int signal) {
    // Two SIGHUPs often come together: the second one doesn't mean that the user wants to stop at once.
    const bool is_again = is_stopping.exchange(true) && signal == SIGHUP;
    if (Collector* collector = signalled.load(); collector != nullptr && !is_again) {
        collector->stop();
    }
}

// Passes SIGINT, SIGTERM and SIGHUP (unless nohup ignores it) to a collector while it exists. The reader of this
// program's output may hang up, too: the recording must be stored all the same.
class SignalsStop {
public:
    explicit SignalsStop(Collector& collector) {
        signalled = &collector;
        is_stopping = false;
        struct sigaction action {};
        sigemptyset(&action.sa_mask);
        for (std::size_t i = 0; i < kSignals.size(); ++i) {
            action.sa_handler = kSignals[i] == SIGPIPE || is_left_alone(kSignals[i]) ? SIG_IGN : on_signal;
            sigaction(kSignals[i], &action, &before_[i]);
        }
    }
    ~SignalsStop() {
        for (std::size_t i = 0; i < kSignals.size(); ++i) {
            sigaction(kSignals[i], &before_[i], nullptr);
        }
        signalled = nullptr;
    }
    SignalsStop(const SignalsStop&) = delete;
    SignalsStop& operator=(const SignalsStop&) = delete;

private:
    static constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP, SIGPIPE};

    static bool is_left_alone(int signal) { return signal == SIGHUP && is_signal_ignored(SIGHUP); }

    std::array<struct sigaction, kSignals.size()> before_{};
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
    const auto socket = PERFLEET_TRY(LocalSocket::in(data_folder, kGatewaySocketName));
    options.gateways = {socket.endpoint()};
    options.is_symbol_rate_limited = false;
    options.gateway_name = "the store in " + data_folder;
    const std::string unstored = unstored_file(data_folder);
    options.unacknowledged_file = unstored;

    // Opened before the gateway's thread starts: the process that forks the command should have few threads.
    auto collector = PERFLEET_TRY(Collector::open(std::move(options), log));
    gateway->start();
    Result<CollectorSummary> summary = [&] {
        const SignalsStop signals{*collector};
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
    Recording recording{std::move(summary).value(), std::nullopt, {}};
    if (!recording.summary.everything_acknowledged) {
        recording.not_stored = failed;
    }
    if (recording.summary.is_rest_in_file) {
        recording.unstored_file = unstored;
    }
    return recording;
}

}  // namespace perfleet
