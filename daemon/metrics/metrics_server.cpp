#include "daemon/metrics/metrics_server.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <utility>
#include <vector>

#include "daemon/listen/listen_address.h"
#include "daemon/metrics/http_responder.h"

namespace perfleet {
namespace {

constexpr const char* kOption = "--metrics";
constexpr std::uint16_t kExamplePort = 9'411;

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
    PrometheusServer(const ListenAddress& address, FileDescriptor listening_fd, MetricSource source)
        : source_{std::move(source)},
          address_{bound_address(address, listening_fd.get())},
          responder_{std::move(listening_fd), [this](std::string_view path) { return answer(path); }} {}

    [[nodiscard]] const std::string& address() const override { return address_; }

private:
    [[nodiscard]] HttpResponder::Answer answer(std::string_view path) const {
        if (path != "/metrics") {
            return {};
        }
        MetricPage page;
        source_(page);
        page.counter("perfleet_metrics_connections_dropped_total",
                     "Connections to this page that were closed before they had an answer: too slow, or too many.",
                     responder_.dropped_count());
        return {200, kMetricsContentType, metrics_text(page)};
    }

    MetricSource source_;
    std::string address_;
    HttpResponder responder_;  // last member: its thread uses the others
};

}  // namespace

std::string metrics_text(const MetricPage& page) {
    std::vector<prometheus::MetricFamily> families;
    families.reserve(page.families().size());
    for (const MetricFamily& family : page.families()) {
        families.push_back(family_of(family));
    }
    return prometheus::TextSerializer{}.Serialize(families);
}

Result<Done> MetricsServer::check_address(const std::string& address) {
    PERFLEET_TRY(parse_listen_address(kOption, address, kExamplePort));
    return Done{};
}

Result<std::unique_ptr<MetricsServer>> MetricsServer::start(const std::string& address, MetricSource source) {
    const auto parsed = PERFLEET_TRY(parse_listen_address(kOption, address, kExamplePort));
    auto listening_fd = PERFLEET_TRY(listen_at(parsed));
    return std::unique_ptr<MetricsServer>{
        std::make_unique<PrometheusServer>(parsed, std::move(listening_fd), std::move(source))};
}

}  // namespace perfleet
