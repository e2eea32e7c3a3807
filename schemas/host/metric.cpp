#include "schemas/host/metric.h"

#include <algorithm>

namespace perfleet {

void MetricPage::add(MetricFamily::Type type, std::string name, std::string help, MetricFamily::Value value) {
    const auto found = std::ranges::find(families_, name, &MetricFamily::name);
    if (found != families_.end()) {
        found->values.push_back(std::move(value));
        return;
    }
    families_.push_back({std::move(name), std::move(help), type, {std::move(value)}});
}

void MetricPage::counter(std::string name, std::string help, double value, MetricFamily::Labels labels) {
    add(MetricFamily::Type::kCounter, std::move(name), std::move(help), {std::move(labels), value, {}});
}

void MetricPage::counter(std::string name, std::string help, std::uint64_t value, MetricFamily::Labels labels) {
    counter(std::move(name), std::move(help), static_cast<double>(value), std::move(labels));
}

void MetricPage::gauge(std::string name, std::string help, double value, MetricFamily::Labels labels) {
    add(MetricFamily::Type::kGauge, std::move(name), std::move(help), {std::move(labels), value, {}});
}

void MetricPage::gauge(std::string name, std::string help, std::uint64_t value, MetricFamily::Labels labels) {
    gauge(std::move(name), std::move(help), static_cast<double>(value), std::move(labels));
}

void MetricPage::histogram(std::string name, std::string help, const DurationHistogram& durations) {
    add(MetricFamily::Type::kHistogram, std::move(name), std::move(help), {{}, 0, durations});
}

}  // namespace perfleet
