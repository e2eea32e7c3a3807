#include "daemon/metrics/metrics_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <utility>
#include <vector>

#include "daemon/metrics/http_responder.h"
#include "schemas/host/file_descriptor.h"

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

// A descriptor that listens at the address.
Result<FileDescriptor> listen_at(const std::string& text, const Address& address) {
    FileDescriptor listening{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    if (!listening) {
        return error_from_errno(errno, "--metrics " + text);
    }
    const int one = 1;
    (void)setsockopt(listening.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    const sockaddr_in place = place_of(address);
    if (bind(listening.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0 &&
        listen(listening.get(), SOMAXCONN) == 0) {
        return listening;
    }
    switch (const int bind_errno = errno; bind_errno) {
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

prometheus::ClientMetric::Histogram histogram_of(const DurationHistogram& durations) {
    prometheus::ClientMetric::Histogram histogram;
    // The last bucket has no bound: it is the sample count.
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

class PrometheusServer final : public MetricsServer {
public:
    PrometheusServer(FileDescriptor listening_fd, const std::string& host, MetricSource source)
        : source_{std::move(source)},
          address_{host + ":" + std::to_string(port_of(listening_fd.get()))},
          responder_{std::move(listening_fd), [this](std::string_view path) { return answer(path); }} {}

    [[nodiscard]] const std::string& address() const override { return address_; }

private:
    [[nodiscard]] static std::uint16_t port_of(int listening_fd) {
        sockaddr_in place{};
        socklen_t size = sizeof place;
        (void)getsockname(listening_fd, reinterpret_cast<sockaddr*>(&place), &size);
        return ntohs(place.sin_port);
    }

    [[nodiscard]] HttpResponder::Answer answer(std::string_view path) const {
        if (path != "/metrics") {
            return {};
        }
        MetricPage page;
        source_(page);
        page.counter("perfleet_metrics_connections_dropped_total",
                     "Connections to this page that were closed before they had an answer: too slow, or too many.",
                     responder_.dropped_count());
        std::vector<prometheus::MetricFamily> families;
        families.reserve(page.families().size());
        for (const MetricFamily& family : page.families()) {
            families.push_back(family_of(family));
        }
        return {200, "text/plain; version=0.0.4; charset=utf-8", prometheus::TextSerializer{}.Serialize(families)};
    }

    MetricSource source_;
    std::string address_;
    HttpResponder responder_;  // last member: its thread uses the others
};

}  // namespace

Result<Done> MetricsServer::check_address(const std::string& address) {
    PERFLEET_TRY(parse_address(address));
    return Done{};
}

Result<std::unique_ptr<MetricsServer>> MetricsServer::start(const std::string& address, MetricSource source) {
    auto parsed = PERFLEET_TRY(parse_address(address));
    auto listening_fd = PERFLEET_TRY(listen_at(address, parsed));
    return std::unique_ptr<MetricsServer>{
        std::make_unique<PrometheusServer>(std::move(listening_fd), parsed.host, std::move(source))};
}

}  // namespace perfleet
