#include "tools/perfleet/record.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "gateway/gateway.h"
#include "storage/store/store.h"

namespace perfleet {
namespace {

constexpr const char* kEndpoint = "inproc://gateway";

// Who is told of SIGINT and SIGTERM; signal handlers can't be given anything.
std::atomic<Collector*> signalled{nullptr};

void on_signal(int) {
    if (Collector* collector = signalled.load(); collector != nullptr) {
        collector->stop();
    }
}

// Passes SIGINT and SIGTERM on to a collector as long as it lives.
class SignalsStop {
public:
    explicit SignalsStop(Collector& collector) {
        signalled = &collector;
        struct sigaction action {};
        action.sa_handler = on_signal;
        sigemptyset(&action.sa_mask);
        sigaction(SIGINT, &action, &interrupt_before_);
        sigaction(SIGTERM, &action, &terminate_before_);
    }
    ~SignalsStop() {
        sigaction(SIGINT, &interrupt_before_, nullptr);
        sigaction(SIGTERM, &terminate_before_, nullptr);
        signalled = nullptr;
    }
    SignalsStop(const SignalsStop&) = delete;
    SignalsStop& operator=(const SignalsStop&) = delete;

private:
    struct sigaction interrupt_before_ {};
    struct sigaction terminate_before_ {};
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

Result<CollectorSummary> record(CollectorOptions options, const std::string& data_folder,
                                const std::function<void(std::string_view)>& notice) {
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
    if (const Result<Done>& served = serving.stop(); !served.ok()) {
        return Error{served.error().code, served.error().message};
    }
    return summary;
}

}  // namespace perfleet
