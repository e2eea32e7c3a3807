// A gateway drops partitions that are too old while it takes new batches; expired rows are counted in every answer.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "daemon/metrics/testing/scrape.h"
#include "gateway/admission/testing/sample_messages.h"
#include "storage/store/open_store.h"
#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/process.h"
#include "tests/end_to_end/sample_peer.h"

namespace perfleet::end_to_end::retention_program_test {
namespace {

constexpr TargetId kTarget{3};
constexpr SessionId kOldSession{1, 2};
constexpr SessionId kSession{1, 3};
constexpr BucketNumber kOldBucket{400'000};  // 2015
constexpr std::uint64_t kOldBatches = 60;
constexpr std::uint64_t kRowsPerBatch = 1'000;
constexpr std::uint64_t kOldRows = kOldBatches * kRowsPerBatch;
constexpr Series kSamples{Kind::kSample, EventNumber{0}};

BucketNumber bucket_now() {
    return bucket_of(
        UtcNs{std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
                  .count()});
}

AdmittedBatch old_batch(std::uint64_t seq, BucketNumber bucket) {
    std::vector<std::uint64_t> times;
    for (std::uint64_t row = 0; row < kRowsPerBatch; ++row) {
        times.push_back((seq * kRowsPerBatch + row) * 2'654'435'761 % 1'000'000'007);  // no two alike
    }
    SampleBatch batch{kTarget, kOldSession, Seq{seq}, EpochNumber{bucket.value - kOldBucket.value}, bucket};
    batch.add(kSamples, {{ColumnId::kTime, times}});
    batch.entry(kSamples, CountName::kProduced, kRowsPerBatch * seq);
    return batch.build();
}

// Two hours of one session, long ago.
void make_store(const std::string& data) {
    auto store = open_store(data);
    ASSERT_TRUE(store.ok()) << store.error().message;
    for (std::uint64_t seq = 1; seq <= kOldBatches; ++seq) {
        const BucketNumber bucket{kOldBucket.value + (seq <= kOldBatches / 2 ? 0 : 1)};
        const Partition partition = partition_of(kTarget, bucket);
        ASSERT_TRUE((*store)->define(partition, sample_session(kTarget, kOldSession)).ok());
        const std::vector batches{old_batch(seq, bucket)};
        ASSERT_TRUE((*store)->put(partition, batches).ok());
    }
    ASSERT_TRUE((*store)->advance_watermark(kTarget, kOldSession, Seq{kOldBatches}).ok());
    ASSERT_TRUE((*store)->sync().ok());
}

nlohmann::json ledger_of(const std::string& data, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{program_path("perfleet"), "top", "--all", "--data", data, "--format", "json"};
    words.insert(words.end(), more.begin(), more.end());
    const Finished top = run(words);
    EXPECT_EQ(top.ending.status, 0) << top.error_output;
    const auto answer = nlohmann::json::parse(top.output);
    EXPECT_EQ(answer["warnings"].dump().find("accounted for"), std::string::npos) << answer["warnings"];
    return answer["ledger"];
}

double wait_for(GatewayProgram& gateway, const std::string& metric, double value) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{kTimeoutS};
    double found = scrape(gateway.metrics()).value(metric).value_or(0);
    while (found < value && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
        found = scrape(gateway.metrics()).value(metric).value_or(0);
    }
    return found;
}

TEST(RetentionProgram, DropsWhatIsTooOldWhileItServesAndTellsItInEveryLedger) {
    const TemporaryFolder folder;
    const std::string data = folder / "data";
    make_store(data);
    GatewayProgram gateway{data,   "tcp://127.0.0.1:*",
                           "none", program_path("perfleet-gateway"),
                           {},     {"--metrics", "127.0.0.1:*", "--retain", "2d"}};
    SamplePeer peer{gateway.listen()};
    peer.greet(sample_session(kTarget, kSession));
    EXPECT_EQ(wait_for(gateway, "perfleet_gateway_retention_partitions_dropped_total{class=\"default\"}", 2), 2);
    // Late ones of an hour that was dropped, then others.
    peer.send(sample::batch(sample_batch(kTarget, kSession, Seq{1}, kOldBucket)));
    peer.send(sample::batch(sample_batch(kTarget, kSession, Seq{2}, bucket_now())));
    peer.wait_for_prefix(2);
    const ScrapedPage page = scrape(gateway.metrics());
    EXPECT_EQ(page.all_problems(), "");
    EXPECT_EQ(page.value("perfleet_gateway_retention_rows_expired_total{class=\"default\"}"), kOldRows);
    EXPECT_GT(page.value("perfleet_gateway_retention_dropped_bytes_total{class=\"default\"}"), 0);
    EXPECT_EQ(page.value("perfleet_gateway_retention_failures_total"), 0);
    EXPECT_EQ(page.value("perfleet_gateway_retention_oldest_seconds{class=\"default\"}"), 0)
        << "nothing was left at the last look";
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    const std::string told = gateway.process().error_output();
    EXPECT_NE(told.find("dropped what was stored of the hour from 2015-08-19T16:00Z on"), std::string::npos) << told;

    const auto ledger = ledger_of(data);
    EXPECT_EQ(ledger["produced"], kOldRows + 4);
    EXPECT_EQ(ledger["expired"], kOldRows + 2);
    EXPECT_EQ(ledger["stored"], 2);
    // The whole of the old session's time, and a time before it.
    const std::string old_session = "00000000000000010000000000000002";
    EXPECT_EQ(ledger_of(data, {"--session", old_session, "--from", "2000-01-01T00:00:00Z"})["expired"], kOldRows);
    EXPECT_EQ(ledger_of(data, {"--session", old_session, "--to", "2000-01-01T00:00:00Z"})["expired"], 0);
    const Finished verified = run({program_path("perfleet"), "inspect", "--verify", "--data", data});
    EXPECT_EQ(verified.ending.status, 0) << verified.output << verified.error_output;
}

TEST(RetentionProgram, DropsForBytesAllButTheCurrentHour) {
    const TemporaryFolder folder;
    const std::string data = folder / "data";
    make_store(data);
    GatewayProgram gateway{data,   "tcp://127.0.0.1:*",
                           "none", program_path("perfleet-gateway"),
                           {},     {"--metrics", "127.0.0.1:*", "--retain-bytes", "1"}};
    EXPECT_EQ(wait_for(gateway, "perfleet_gateway_retention_partitions_dropped_total{class=\"default\"}", 2), 2);
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    EXPECT_EQ(ledger_of(data)["expired"], kOldRows);
}

TEST(RetentionProgram, KeepsSessionsByTheClassThatTheirLabelsPutThemIn) {
    const TemporaryFolder folder;
    const std::string data = folder / "data";
    const std::string rules = folder / "classes";
    const auto write_rules = [&](const std::string& age) {
        std::ofstream{rules} << "class dev 1 {env=\"dev\"} keep " << age << "   # a comment\ndefault keep forever\n";
    };
    write_rules("forever");
    const auto start = [&] {
        return std::make_unique<GatewayProgram>(
            data, "tcp://127.0.0.1:*", "none", program_path("perfleet-gateway"), Process::Options{},
            std::vector<std::string>{"--metrics", "127.0.0.1:*", "--retention", rules});
    };
    SessionRecord dev = sample_session(kTarget, kOldSession);
    dev.labels = {{"env", "dev"}};
    {
        auto gateway = start();
        for (const SessionRecord& session : {dev, sample_session(kTarget, kSession)}) {
            SamplePeer peer{gateway->listen()};
            peer.greet(session);
            peer.send(sample::batch(sample_batch(kTarget, session.session, Seq{1}, kOldBucket)));
            peer.wait_for_prefix(1);
        }
        EXPECT_EQ(gateway->end(SIGTERM).status, 0);
    }
    const auto content = [&](const std::vector<std::string>& how) {
        std::vector<std::string> words{program_path("perfleet"), "inspect", "--data", data, "--format", "json"};
        words.insert(words.end(), how.begin(), how.end());
        const Finished inspected = run(words);
        EXPECT_EQ(inspected.ending.status, 0) << inspected.output << inspected.error_output;
        return inspected.output;
    };
    EXPECT_NE(content({}).find("\"400000/0/3\""), std::string::npos) << content({});
    EXPECT_NE(content({}).find("\"400000/1/3\""), std::string::npos) << content({});
    write_rules("2d");
    auto gateway = start();
    EXPECT_EQ(wait_for(*gateway, "perfleet_gateway_retention_partitions_dropped_total{class=\"dev\"}", 1), 1);
    const ScrapedPage page = scrape(gateway->metrics());
    EXPECT_EQ(page.value("perfleet_gateway_retention_rows_expired_total{class=\"dev\"}"), 2);
    EXPECT_EQ(page.value("perfleet_gateway_retention_rows_expired_total{class=\"default\"}"), 0);
    EXPECT_EQ(gateway->end(SIGTERM).status, 0);
    const auto ledger = ledger_of(data);
    EXPECT_EQ(ledger["expired"], 2);
    EXPECT_EQ(ledger["stored"], 2);
    EXPECT_EQ(content({}).find("\"400000/1/3\""), std::string::npos);
    EXPECT_NE(content({"--sizes"}).find("(class 1, expired)"), std::string::npos) << content({"--sizes"});
    (void)content({"--verify"});
}

TEST(RetentionProgram, RefusesRulesThatItCantRead) {
    const TemporaryFolder folder;
    const std::string rules = folder / "classes";
    std::ofstream{rules} << "default keep 30d\nclass dev 1 keep 3d\n";
    const Finished refused = run({program_path("perfleet-gateway"), "--data", folder / "data", "--retention", rules});
    EXPECT_EQ(refused.ending.status, 2);
    EXPECT_NE(refused.error_output.find(rules + ":2: class dev doesn't say whom it takes in"), std::string::npos)
        << refused.error_output;
    EXPECT_FALSE(std::filesystem::exists(folder / "data")) << "nothing was begun";
    EXPECT_EQ(run({program_path("perfleet-gateway"), "--data", folder / "data", "--retention", rules, "--retain", "2d"})
                  .ending.status,
              2);
}

TEST(RetentionProgram, RefusesAnAgeThatItCantKeep) {
    const TemporaryFolder folder;
    for (const char* age : {"7", "0h", "-1d", "30m", "1y", "99999999999w", "7d 3h", ""}) {
        const Finished refused = run({program_path("perfleet-gateway"), "--data", folder / "data", "--retain", age});
        EXPECT_EQ(refused.ending.status, 2) << age;
        EXPECT_NE(refused.error_output.find("--retain"), std::string::npos) << refused.error_output;
    }
    EXPECT_EQ(run({program_path("perfleet-gateway"), "--data", folder / "data", "--retain-bytes", "0"}).ending.status,
              2);
}

}  // namespace
}  // namespace perfleet::end_to_end::retention_program_test
