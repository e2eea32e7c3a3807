#include "gateway/metrics/gateway_metrics.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "schemas/vocabulary/series.h"

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

TEST(GatewayMetrics, EveryFamilyIsThereFromTheStartOnceAndEveryReasonWith0) {
    MetricPage page;
    add_gateway_metrics({}, page);
    std::set<std::string> names;
    for (const MetricFamily& family : page.families()) {
        EXPECT_TRUE(names.insert(family.name).second) << family.name;
        EXPECT_TRUE(family.name.starts_with("perfleet_gateway_"));
        EXPECT_EQ(family.type == MetricFamily::Type::kCounter, family.name.ends_with("_total")) << family.name;
        std::set<std::string> labels;
        for (const MetricFamily::Value& entry : family.values) {
            EXPECT_EQ(entry.value, 0) << family.name;
            EXPECT_TRUE(labels.insert(entry.labels.empty() ? "" : entry.labels.front().second).second) << family.name;
        }
    }
    EXPECT_EQ(value(page, "perfleet_gateway_rows_lost_total", "kernel_ring"), 0);
    EXPECT_EQ(value(page, "perfleet_gateway_rows_lost_total", "other"), 0);
    EXPECT_EQ(value(page, "perfleet_gateway_rows_lost_total", "produced"), std::nullopt);
    EXPECT_EQ(value(page, "perfleet_gateway_batches_refused_total", "conflict"), 0);
}

TEST(GatewayMetrics, CountsStandUnderTheirReason) {
    GatewayReadings readings;
    readings.counts.batches_refused.counts[static_cast<std::size_t>(BatchRefusal::kSeal)] = 3;
    readings.counts.batches_refused.counts[static_cast<std::size_t>(BatchRefusal::kConflict)] = 4;
    readings.counts.rows_lost[static_cast<std::size_t>(CountName::kLostQuota)] = 5;
    readings.counts.rows_lost.back() = 6;
    readings.counts.requests.counts[static_cast<std::size_t>(RequestOutcome::kNoAnswer)] = 14;
    readings.counts.is_store_stuck = true;
    readings.store = FolderSize{7, 8};
    readings.store_damage_count = 13;
    readings.transport.handshakes_unknown_key = 9;
    readings.transport.refused_first_message_timeout = 10;
    readings.query_transport.refused_revoked = 11;
    readings.query_transport.connections_now = 12;
    readings.query_transport.messages_malformed = 13;
    MetricPage page;
    add_gateway_metrics(readings, page);
    EXPECT_EQ(value(page, "perfleet_gateway_batches_refused_total", "seal"), 3);
    EXPECT_EQ(value(page, "perfleet_gateway_batches_total", "refused"), 7);
    EXPECT_EQ(value(page, "perfleet_gateway_rows_lost_total", "quota"), 5);
    EXPECT_EQ(value(page, "perfleet_gateway_rows_lost_total", "other"), 6);
    EXPECT_EQ(value(page, "perfleet_gateway_control_requests_total", "no_answer"), 14);
    EXPECT_EQ(value(page, "perfleet_gateway_control_requests_total", "applied"), 0);
    EXPECT_EQ(value(page, "perfleet_gateway_store_stuck"), 1);
    EXPECT_EQ(value(page, "perfleet_gateway_store_size_bytes"), 7);
    EXPECT_EQ(value(page, "perfleet_gateway_store_free_bytes"), 8);
    EXPECT_EQ(value(page, "perfleet_gateway_store_damage"), 13);
    EXPECT_EQ(value(page, "perfleet_gateway_handshakes_failed_total", "unknown_key"), 9);
    EXPECT_EQ(value(page, "perfleet_gateway_connections_refused_total", "first_message_timeout"), 10);
    EXPECT_EQ(value(page, "perfleet_gateway_connections_refused_total", "revoked"), 0);
    EXPECT_EQ(value(page, "perfleet_gateway_query_connections_refused_total", "revoked"), 11);
    EXPECT_EQ(value(page, "perfleet_gateway_query_connections"), 12);
    EXPECT_EQ(value(page, "perfleet_gateway_query_messages_malformed_total"), 13);
}

TEST(FolderSize, IsWhatTheFilesTake) {
    std::string path = (std::filesystem::temp_directory_path() / "perfleet-folder-XXXXXX").string();
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    const auto empty = size_of_folder(path);
    ASSERT_TRUE(empty.has_value());
    EXPECT_GT(empty->free_bytes, 0U);
    constexpr std::uint64_t kSizeBytes = 1U << 20U;
    std::filesystem::create_directory(path + "/below");
    std::ofstream{path + "/below/file"} << std::string(kSizeBytes, 'x');
    const auto filled = size_of_folder(path);
    ASSERT_TRUE(filled.has_value());
    EXPECT_GE(filled->used_bytes, empty->used_bytes + kSizeBytes);
    EXPECT_LT(filled->used_bytes, empty->used_bytes + 2 * kSizeBytes);
    std::filesystem::remove_all(path);
    EXPECT_FALSE(size_of_folder(path).has_value());
}

}  // namespace
}  // namespace perfleet
