#include "tools/perfleet/record.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "daemon/start/program_start.h"
#include "gateway/gateway.h"
#include "storage/store/store.h"

namespace perfleet {
namespace {

constexpr const char* kEndpoint = "inproc://gateway";

// Who is told of signals, and whether one has come; signal handlers can't be given anything.
std::atomic<Collector*> signalled{nullptr};
std::atomic<bool> is_stopping{false};

void on_signal(int signal) {
    // Two hang-ups often come together, and neither means that the user has no patience.
    const bool is_again = is_stopping.exchange(true) && signal == SIGHUP;
    if (Collector* collector = signalled.load(); collector != nullptr && !is_again) {
        collector->stop();
    }
}

// Passes SIGINT, SIGTERM and SIGHUP (unless nohup has it ignored) on to a collector as long as it lives. Whoever reads
// what is said may hang up, too: what was recorded is to be stored all the same.
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

// A gateway that serves on a thread of its own until it goes out of scope or is stopped.
class ServingGateway {
public:
    explicit ServingGateway(Gateway& gateway)
        : stop_fd_{eventfd(0, EFD_CLOEXEC)}, thread_{[this, &gateway] { served_ = gateway.serve(stop_, stop_fd_); }} {}
    ~ServingGateway() {
        (void)stop();
        close(stop_fd_);
    }
    ServingGateway(const ServingGateway&) = delete;
    ServingGateway& operator=(const ServingGateway&) = delete;

    // How the serving ended.
    [[nodiscard]] const Result<Done>& stop() {
        if (thread_.joinable()) {
            stop_ = true;
            const std::uint64_t one = 1;
            (void)!write(stop_fd_, &one, sizeof one);
            thread_.join();
        }
        return served_;
    }

private:
    std::atomic<bool> stop_{false};
    int stop_fd_;
    Result<Done> served_{Done{}};
    std::thread thread_;
};

}  // namespace

Result<Recording> record(CollectorOptions options, const std::string& data_folder, const Telling& notice) {
    auto store = open_rocksdb_store(data_folder);
    if (!store.ok()) {
        return std::move(store).error();
    }
    TransportContext context;
    GatewayOptions gateway_options;
    gateway_options.listen = {kEndpoint};
    gateway_options.notice = notice;
    gateway_options.control_folder = data_folder;
    auto gateway = Gateway::open(gateway_options, context, **store);
    if (!gateway.ok()) {
        return std::move(gateway).error();
    }
    options.gateways = {kEndpoint};
    options.shared_context = context.native_handle();

    // Opened before the gateway's thread starts: the command is forked from a process with as few threads as can be.
    auto collector = Collector::open(std::move(options), notice);
    if (!collector.ok()) {
        return std::move(collector).error();
    }
    ServingGateway serving{**gateway};
    Result<CollectorSummary> summary = [&] {
        const SignalsStop signals{**collector};
        return (*collector)->run();
    }();
    collector.value().reset();  // its socket must be closed before the context can end
    const Result<Done>& served = serving.stop();
    if (!summary.ok()) {
        return std::move(summary).error();
    }
    Recording recording{std::move(summary).value(), std::nullopt};
    if (!served.ok()) {
        recording.not_stored = served.error();
    }
    return recording;
}

}  // namespace perfleet
