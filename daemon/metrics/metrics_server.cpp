#include "daemon/metrics/metrics_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <prometheus/metric_family.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace perfleet {
namespace {

struct Address {
    std::string host;
    std::uint16_t port = 0;
};

Error usage_error(const std::string& address, const std::string& what) {
    return {ErrorCode::kUsage, "--metrics " + address + ": " + what +
                                   "; give HOST:PORT, 127.0.0.1:9411 for this machine alone, 0.0.0.0:9411 for "
                                   "everybody who can reach it, * as the port for a free one"};
}

Result<Address> parse_address(const std::string& text) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos) {
        return usage_error(text, "it lacks a host or a port");
    }
    Address address{text.substr(0, colon), 0};
    in_addr parsed{};
    if (inet_pton(AF_INET, address.host.c_str(), &parsed) != 1) {
        return usage_error(text, "'" + address.host + "' is no IPv4 address");
    }
    const std::string_view port{text.data() + colon + 1, text.size() - colon - 1};
    if (port != "*") {
        const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
        if (error != std::errc{} || end != port.data() + port.size()) {
            return usage_error(text, "'" + std::string{port} + "' is no port");
        }
    }
    return address;
}

sockaddr_in place_of(const Address& address) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(address.port);
    (void)inet_pton(AF_INET, address.host.c_str(), &place.sin_addr);
    return place;
}

// The server below only says that it could not bind; this says why.
Result<Done> try_to_bind(const std::string& text, const Address& address) {
    const int socket_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket_fd < 0) {
        return error_from_errno(errno, "--metrics " + text);
    }
    const int one = 1;
    (void)setsockopt(socket_fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    const sockaddr_in place = place_of(address);
    const int status = bind(socket_fd, reinterpret_cast<const sockaddr*>(&place), sizeof place);
    const int bind_errno = errno;
    close(socket_fd);
    if (status == 0) {
        return Done{};
    }
    switch (bind_errno) {
        case EADDRINUSE:
            return Error{ErrorCode::kBusy, "--metrics " + text +
                                               ": another program listens there; choose another port, or * for a free "
                                               "one"};
        case EADDRNOTAVAIL: return usage_error(text, "it is no address of this machine");
        default: return error_from_errno(bind_errno, "--metrics " + text);
    }
}

prometheus::MetricType type_of(MetricFamily::Type type) {
    switch (type) {
        case MetricFamily::Type::kCounter: return prometheus::MetricType::Counter;
        case MetricFamily::Type::kGauge: return prometheus::MetricType::Gauge;
        case MetricFamily::Type::kHistogram: return prometheus::MetricType::Histogram;
    }
    return prometheus::MetricType::Untyped;
}

double seconds(std::uint64_t duration_ns) { return static_cast<double>(duration_ns) / 1e9; }

prometheus::ClientMetric::Histogram histogram_of(const DurationHistogram::Counts& durations) {
    prometheus::ClientMetric::Histogram histogram;
    // The bucket without a bound is the count itself.
    for (std::size_t i = 0; i < durations.in_bucket.size(); ++i) {
        histogram.sample_count += durations.in_bucket[i];
        if (i < DurationHistogram::kBoundsNs.size()) {
            histogram.bucket.push_back({histogram.sample_count, seconds(DurationHistogram::kBoundsNs[i])});
        }
    }
    histogram.sample_sum = seconds(durations.sum_ns);
    return histogram;
}

prometheus::MetricFamily family_of(const MetricFamily& from) {
    prometheus::MetricFamily family{from.name, from.help, type_of(from.type), {}};
    for (const MetricFamily::Value& value : from.values) {
        prometheus::ClientMetric metric;
        for (const auto& [name, text] : value.labels) {
            metric.label.push_back({name, text});
        }
        switch (from.type) {
            case MetricFamily::Type::kCounter: metric.counter.value = value.value; break;
            case MetricFamily::Type::kGauge: metric.gauge.value = value.value; break;
            case MetricFamily::Type::kHistogram: metric.histogram = histogram_of(value.durations); break;
        }
        family.metric.push_back(std::move(metric));
    }
    return family;
}

class SourceCollectable final : public prometheus::Collectable {
public:
    explicit SourceCollectable(MetricSource source) : source_{std::move(source)} {}

    [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override {
        MetricPage page;
        {
            const std::lock_guard lock{mutex_};
            source_(page);
        }
        std::vector<prometheus::MetricFamily> families;
        families.reserve(page.families().size());
        for (const MetricFamily& family : page.families()) {
            families.push_back(family_of(family));
        }
        return families;
    }

private:
    MetricSource source_;
    mutable std::mutex mutex_;
};

class PrometheusServer final : public MetricsServer {
public:
    explicit PrometheusServer(MetricSource source) : source_{std::make_shared<SourceCollectable>(std::move(source))} {}

    Result<Done> begin(const std::string& text, const Address& address) {
        // The library throws what it can't say otherwise.
        try {
            exposer_.emplace(std::vector<std::string>{
                "listening_ports", address.host + ":" + std::to_string(address.port), "num_threads",
                std::to_string(kHttpThreads), "request_timeout_ms", std::to_string(kRequestTimeoutMs)});
            exposer_->RegisterCollectable(source_);
        } catch (const std::exception& exception) {
            return Error{ErrorCode::kIo, "--metrics " + text + ": " + exception.what()};
        }
        const std::vector<int> ports = exposer_->GetListeningPorts();
        if (ports.size() != 1) {
            return Error{ErrorCode::kIo, "--metrics " + text + ": the server listens nowhere"};
        }
        address_ = address.host + ":" + std::to_string(ports.front());
        place_ = place_of({address.host, static_cast<std::uint16_t>(ports.front())});
        return Done{};
    }

    // The library looks for its end only when somebody calls, or after two seconds.
    ~PrometheusServer() override {
        std::atomic<bool> has_ended{!exposer_};
        std::thread caller{[&] {
            while (!has_ended.load(std::memory_order_acquire)) {
                call();
                std::this_thread::sleep_for(std::chrono::milliseconds{kCallEveryMs});
            }
        }};
        exposer_.reset();
        has_ended.store(true, std::memory_order_release);
        caller.join();
    }

    [[nodiscard]] const std::string& address() const override { return address_; }

private:
    static constexpr int kCallEveryMs = 5;

    void call() const {
        const int socket_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (socket_fd >= 0) {
            (void)connect(socket_fd, reinterpret_cast<const sockaddr*>(&place_), sizeof place_);
            close(socket_fd);
        }
    }

    std::shared_ptr<SourceCollectable> source_;
    std::optional<prometheus::Exposer> exposer_;
    std::string address_;
    sockaddr_in place_{};
};

}  // namespace

Result<Done> MetricsServer::check_address(const std::string& address) {
    auto parsed = parse_address(address);
    if (!parsed) {
        return std::move(parsed).error();
    }
    return Done{};
}

Result<std::unique_ptr<MetricsServer>> MetricsServer::start(const std::string& address, MetricSource source) {
    auto parsed = parse_address(address);
    if (!parsed) {
        return std::move(parsed).error();
    }
    if (auto bound = try_to_bind(address, *parsed); !bound) {
        return std::move(bound).error();
    }
    auto server = std::make_unique<PrometheusServer>(std::move(source));
    if (auto begun = server->begin(address, *parsed); !begun) {
        return std::move(begun).error();
    }
    return std::unique_ptr<MetricsServer>{std::move(server)};
}

}  // namespace perfleet
