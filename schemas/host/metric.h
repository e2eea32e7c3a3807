// A program's metrics as plain data: families of values, to be shown in any format.
//
// Hosts only. Names and units as Prometheus has them: `…_total` for what only grows, `_seconds`, `_bytes`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "schemas/vocabulary/duration_histogram.h"

namespace perfleet {

struct MetricFamily {
    enum class Type : std::uint8_t { kCounter, kGauge, kHistogram };
    using Labels = std::vector<std::pair<std::string, std::string>>;
    struct Value {
        Labels labels;
        double value = 0;             // unused in histograms
        DurationHistogram durations;  // of histograms only
    };

    std::string name;
    std::string help;  // one sentence
    Type type{};
    std::vector<Value> values;
};

class MetricPage {
public:
    // The values of one family must have different labels; the family has the help of the first.
    void counter(std::string name, std::string help, double value, MetricFamily::Labels labels = {});
    void counter(std::string name, std::string help, std::uint64_t value, MetricFamily::Labels labels = {});
    void gauge(std::string name, std::string help, double value, MetricFamily::Labels labels = {});
    void gauge(std::string name, std::string help, std::uint64_t value, MetricFamily::Labels labels = {});
    void histogram(std::string name, std::string help, const DurationHistogram& durations);

    [[nodiscard]] const std::vector<MetricFamily>& families() const { return families_; }

private:
    void add(MetricFamily::Type type, std::string name, std::string help, MetricFamily::Value value);

    std::vector<MetricFamily> families_;
};

// Adds the present values to the page.
using MetricSource = std::function<void(MetricPage&)>;

}  // namespace perfleet
