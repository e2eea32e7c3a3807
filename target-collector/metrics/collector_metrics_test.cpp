#include "target-collector/metrics/collector_metrics.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace perfleet {
namespace {

std::optional<double> value(const MetricPage& page, const std::string& name, const std::string& label = "") {
    for (const MetricFamily& family : page.families()) {
        for (const MetricFamily::Value& entry : family.values) {
            if (family.name == name && (entry.labels.empty() ? "" : entry.labels.front().second) == label) {
                return entry.value;
            }
        }
    }
    return std::nullopt;
}

TEST(CollectorMetrics, EveryFamilyIsThereFromTheStartOnceWith0) {
    MetricPage page;
    add_collector_metrics({}, 0, page);
    std::set<std::string> names;
    for (const MetricFamily& family : page.families()) {
        EXPECT_TRUE(names.insert(family.name).second) << family.name;
        EXPECT_TRUE(family.name.starts_with("perfleet_collector_"));
        EXPECT_EQ(family.type == MetricFamily::Type::kCounter, family.name.ends_with("_total")) << family.name;
        for (const MetricFamily::Value& entry : family.values) {
            EXPECT_EQ(entry.value, 0) << family.name;
        }
    }
}

TEST(CollectorMetrics, CountsStandUnderKindAndReason) {
    const std::vector<CountEntry> counts{
        {{Kind::kSample, EventNumber{0}}, CountName::kProduced, 100},
        {{Kind::kSample, EventNumber{1}}, CountName::kProduced, 20},
        {{Kind::kSample, EventNumber{1}}, CountName::kLostKernelRing, 3},
        {{Kind::kTracepoint, EventNumber{2}}, CountName::kLostKernelRing, 4},
        {{Kind::kTracepoint, EventNumber{2}}, static_cast<CountName>(kCountLostLast), 5},
        {{Kind::kTracepoint, EventNumber{2}}, CountName::kThrottled, 6},
        {{Kind::kStack, kNoEvent}, CountName::kProduced, 7},
        {{Kind::kStack, kNoEvent}, CountName::kLostRingFull, 8},
    };
    CollectorCounters counters;
    counters.publish_rows(counts, Seq{9}, 0);
    Delivery::Status status;
    status.batches_acknowledged = 10;
    status.welcomed = true;
    counters.publish_delivery(status, false);
    MetricPage page;
    add_collector_metrics(counters.read(), 11, page);
    EXPECT_EQ(value(page, "perfleet_collector_rows_produced_total", "sample"), 120);
    EXPECT_EQ(value(page, "perfleet_collector_rows_produced_total", "stack"), std::nullopt);
    EXPECT_EQ(value(page, "perfleet_collector_definitions_produced_total", "stack"), 7);
    EXPECT_EQ(value(page, "perfleet_collector_rows_lost_total", "kernel_ring"), 7);
    EXPECT_EQ(value(page, "perfleet_collector_rows_lost_total", "ring_full"), 0);
    EXPECT_EQ(value(page, "perfleet_collector_rows_lost_total", "other"), 5);
    EXPECT_EQ(value(page, "perfleet_collector_definitions_lost_total"), 8);
    EXPECT_EQ(value(page, "perfleet_collector_batches_sealed_total"), 9);
    EXPECT_EQ(value(page, "perfleet_collector_batches_acknowledged_total"), 10);
    EXPECT_EQ(value(page, "perfleet_collector_connected"), 1);
    EXPECT_EQ(value(page, "perfleet_collector_log_suppressed_total"), 11);
    counters.publish_delivery(status, true);
    MetricPage later;
    add_collector_metrics(counters.read(), 11, later);
    EXPECT_EQ(value(later, "perfleet_collector_connected"), 0);
}

}  // namespace
}  // namespace perfleet
