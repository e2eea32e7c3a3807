// What an operator sees of a gateway: metrics as Prometheus reads them, and its log.
#include <gtest/gtest.h>

#include <csignal>
#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "daemon/metrics/testing/scrape.h"
#include "gateway/admission/testing/sample_messages.h"
#include "tests/end_to_end/process.h"
#include "tests/end_to_end/sample_peer.h"

namespace perfleet::end_to_end::gateway_metrics_test {
namespace {

constexpr TargetId kTarget{3};
constexpr SessionId kSession{1, 2};
constexpr BucketNumber kBucket{400'000};
constexpr Series kSamples{Kind::kSample, EventNumber{0}};

std::string gateway() { return program_path("perfleet-gateway"); }

class GatewayMetrics : public testing::Test {
protected:
    void SetUp() override {
        const auto line = process_.wait_for_output("ready ");
        ASSERT_TRUE(line.has_value()) << process_.error_output();
        listen_ = field_of(*line, "listen");
        metrics_ = field_of(*line, "metrics");
        EXPECT_TRUE(line->ends_with(" query=none metrics=" + metrics_)) << *line;
    }

    ScrapedPage scrape_now() {
        ScrapedPage page = scrape(metrics_);
        EXPECT_EQ(page.all_problems(), "");
        return page;
    }

    // When this returns everything that was sent before was taken.
    static void wait_until_taken(SamplePeer& peer) {
        peer.send(sample::probe());
        peer.wait_for(sample::ReplyType::kHelloAgain);
    }

    TemporaryFolder folder_;
    Process process_{{gateway(), "--data", folder_ / "data", "--listen", "tcp://127.0.0.1:*", "--query", "none",
                      "--metrics", "127.0.0.1:*"}};
    std::string listen_;
    std::string metrics_;
};

TEST_F(GatewayMetrics, CountWhatAPeerSent) {
    SamplePeer peer{listen_};
    peer.greet(sample_session(kTarget, kSession));
    std::size_t sent_bytes = sample::hello(sample_session(kTarget, kSession)).size();
    const auto send = [&](const sample::Frame& frame) {
        sent_bytes += frame.size();
        peer.send(frame);
    };
    constexpr std::uint64_t kBatches = 10;
    constexpr std::uint64_t kRows = 2 * kBatches;
    for (std::uint64_t seq = 1; seq <= kBatches; ++seq) {
        AdmittedBatch batch = sample_batch(kTarget, kSession, Seq{seq}, kBucket);
        batch.record.counts.push_back({kSamples, CountName::kLostKernelRing, 7 * seq});
        send(sample::resealed_batch(batch));
    }
    peer.wait_for_prefix(kBatches);
    for (std::uint64_t seq = 1; seq <= 3; ++seq) {
        send(sample::batch(sample_batch(kTarget, kSession, Seq{seq}, kBucket)));  // again
    }
    AdmittedBatch damaged = sample_batch(kTarget, kSession, Seq{kBatches + 1}, kBucket);
    damaged.record.counts.front().value += 1;  // without a new seal
    send(sample::batch(damaged));
    peer.wait_for(sample::ReplyType::kRefused);
    send(sample::Frame(13));  // no multiple of 8
    sent_bytes += sample::probe().size();
    wait_until_taken(peer);

    const ScrapedPage page = scrape_now();
    EXPECT_EQ(page.value("perfleet_gateway_peers"), 1);
    EXPECT_EQ(page.value("perfleet_gateway_sessions"), 1);
    EXPECT_EQ(page.value("perfleet_gateway_messages_total"), kBatches + 7);
    EXPECT_EQ(page.value("perfleet_gateway_received_bytes_total"), static_cast<double>(sent_bytes));
    EXPECT_EQ(page.value("perfleet_gateway_batches_total{outcome=\"stored\"}"), kBatches);
    EXPECT_EQ(page.value("perfleet_gateway_batches_total{outcome=\"duplicate\"}"), 3);
    EXPECT_EQ(page.value("perfleet_gateway_batches_total{outcome=\"refused\"}"), 1);
    EXPECT_EQ(page.value("perfleet_gateway_batches_refused_total{reason=\"seal\"}"), 1);
    EXPECT_EQ(page.sum("perfleet_gateway_batches_refused_total"), 1);
    EXPECT_EQ(page.value("perfleet_gateway_messages_malformed_total{reason=\"truncated\"}"), 1);
    EXPECT_EQ(page.value("perfleet_gateway_rows_stored_total"), kRows);
    EXPECT_EQ(page.value("perfleet_gateway_rows_lost_total{reason=\"kernel_ring\"}"), 7 * kBatches);
    EXPECT_EQ(page.sum("perfleet_gateway_rows_lost_total"), 7 * kBatches);
    EXPECT_EQ(page.value("perfleet_gateway_store_stuck"), 0);
    const double commits = page.value("perfleet_gateway_commits_total").value_or(0);
    EXPECT_GE(commits, 1);
    EXPECT_EQ(page.value("perfleet_gateway_commit_seconds_count"), commits);
    const double acknowledgements = page.value("perfleet_gateway_acknowledgement_seconds_count").value_or(0);
    EXPECT_GE(acknowledgements, 1);
    EXPECT_LE(acknowledgements, commits);
    // Each waits for its group.
    EXPECT_GE(page.value("perfleet_gateway_acknowledgement_seconds_sum").value_or(0),
              page.value("perfleet_gateway_commit_seconds_sum").value_or(0) / commits);
    EXPECT_GT(page.value("perfleet_gateway_store_size_bytes").value_or(0), 0);
    EXPECT_GT(page.value("perfleet_gateway_store_free_bytes").value_or(0), 0);
    EXPECT_GT(page.value("process_resident_memory_bytes").value_or(0), 1e6);
}

TEST_F(GatewayMetrics, RefusedPeersStandUnderTheirReason) {
    SamplePeer peer{listen_};
    peer.greet(sample_session(kTarget, kSession));
    SamplePeer liar{listen_};
    liar.send(sample::hello(sample_session(TargetId{4}, kSession)));
    liar.wait_for(sample::ReplyType::kRefused);
    const ScrapedPage page = scrape_now();
    EXPECT_EQ(page.value("perfleet_gateway_peers_refused_total{reason=\"identity\"}"), 1);
    EXPECT_EQ(page.sum("perfleet_gateway_peers_refused_total"), 1);
    process_.send_signal(SIGTERM);
    const auto ending = process_.wait();
    ASSERT_TRUE(ending.has_value());
    EXPECT_EQ(ending->status, 0) << process_.error_output();
}

TEST(GatewayMetricsAddress, ABadOneExitsWithTwoAndTouchesNothing) {
    const TemporaryFolder folder;
    const std::string data = folder / "data";
    for (const std::string address : {"9411", ":9411", "localhost:9411", "127.0.0.1:99999"}) {
        const Finished finished = run(
            {gateway(), "--data", data, "--listen", "tcp://127.0.0.1:*", "--query", "none", "--metrics=" + address});
        EXPECT_EQ(finished.ending.status, 2) << address;
        EXPECT_NE(finished.error_output.find("--metrics: " + address), std::string::npos) << finished.error_output;
        EXPECT_EQ(finished.output, "");
        EXPECT_FALSE(std::filesystem::exists(data));
    }
}

TEST(GatewayMetricsAddress, ATakenPortIsNamed) {
    const TemporaryFolder folder;
    Process first{{gateway(), "--data", folder / "one", "--listen", "tcp://127.0.0.1:*", "--query", "none", "--metrics",
                   "127.0.0.1:0"}};
    const auto line = first.wait_for_output("ready ");
    ASSERT_TRUE(line.has_value());
    const std::string taken = field_of(*line, "metrics");
    const Finished second = run(
        {gateway(), "--data", folder / "two", "--listen", "tcp://127.0.0.1:*", "--query", "none", "--metrics", taken});
    EXPECT_EQ(second.ending.status, 1);
    EXPECT_NE(second.error_output.find("--metrics " + taken), std::string::npos) << second.error_output;
    EXPECT_NE(second.error_output.find("another program"), std::string::npos) << second.error_output;
    EXPECT_EQ(second.output, "");
}

TEST(GatewayLog, JsonLinesHaveLevelKindAndWhatAPeerWroteStaysInside) {
    const TemporaryFolder folder;
    Process process{{gateway(), "--data", folder / "data", "--listen", "tcp://127.0.0.1:*", "--query", "none",
                     "--log-level", "info", "--log-format", "json"}};
    const auto line = process.wait_for_output("ready ");
    ASSERT_TRUE(line.has_value()) << process.error_output();
    SamplePeer peer{field_of(*line, "listen")};
    SessionRecord record = sample_session(kTarget, kSession);
    peer.greet(record);
    record.target = TargetId{4};
    record.target_name = "evil\"\n\x1b[2J{}";
    peer.send(sample::hello(record));
    peer.wait_for(sample::ReplyType::kRefused);
    process.send_signal(SIGTERM);
    ASSERT_TRUE(process.wait().has_value());
    std::istringstream lines{process.error_output()};
    std::string text;
    int refused = 0;
    int count = 0;
    while (std::getline(lines, text)) {
        const auto entry = nlohmann::json::parse(text, nullptr, false);
        ASSERT_TRUE(entry.is_object()) << text;
        EXPECT_EQ(entry.at("program"), "perfleet-gateway");
        EXPECT_TRUE(entry.contains("time") && entry.contains("level")) << text;
        refused += entry.at("message").get<std::string>().find("was refused") != std::string::npos ? 1 : 0;
        ++count;
    }
    EXPECT_EQ(refused, 1) << process.error_output();
    EXPECT_GE(count, 3);  // and that it served and stopped
}

TEST(GatewayLog, UnknownLevelsAndFormatsExitWithTwo) {
    const TemporaryFolder folder;
    for (const std::string option : {"--log-level=loud", "--log-level=", "--log-level=3", "--log-format=xml"}) {
        const Finished finished = run({gateway(), "--data", folder / "data", "--query", "none", option});
        EXPECT_EQ(finished.ending.status, 2) << option;
        EXPECT_NE(finished.error_output.find(option.substr(0, option.find('='))), std::string::npos)
            << finished.error_output;
    }
    EXPECT_FALSE(std::filesystem::exists(folder / "data"));
}

}  // namespace
}  // namespace perfleet::end_to_end::gateway_metrics_test
