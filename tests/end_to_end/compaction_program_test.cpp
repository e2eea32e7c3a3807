// A gateway compacts the data of an earlier one while it takes new batches, and stops as it should.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "daemon/metrics/testing/scrape.h"
#include "gateway/admission/testing/sample_messages.h"
#include "storage/store/open_store.h"
#include "storage/store/testing/visit_blocks.h"
#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/process.h"
#include "tests/end_to_end/sample_peer.h"

namespace perfleet::end_to_end::compaction_program_test {
namespace {

constexpr TargetId kTarget{3};
constexpr SessionId kSession{1, 2};
constexpr SessionId kNewSession{1, 3};
constexpr BucketNumber kBucket{400'000};  // long over
constexpr Series kSamples{Kind::kSample, EventNumber{0}};
constexpr std::uint64_t kBatches = 60;

void make_store(const std::string& data) {
    auto store = open_store(data);
    ASSERT_TRUE(store.ok()) << store.error().message;
    const Partition partition = partition_of(kTarget, kBucket);
    ASSERT_TRUE((*store)->define(partition, sample_session(kTarget, kSession)).ok());
    for (std::uint64_t seq = 1; seq <= kBatches; ++seq) {
        const std::vector batches{sample_batch(kTarget, kSession, Seq{seq}, kBucket)};
        ASSERT_TRUE((*store)->put(partition, batches).ok());
    }
    ASSERT_TRUE((*store)->advance_watermark(kTarget, kSession, Seq{kBatches}).ok());
    ASSERT_TRUE((*store)->sync().ok());
}

struct Stored {
    std::uint64_t batch_count = 0;
    std::uint64_t block_count = 0;
};

Stored stored_of(const std::string& data, SessionId session) {
    Stored stored;
    const auto reader = open_store_reader(data);
    EXPECT_TRUE(reader.ok()) << reader.error().message;
    const Partition partition = partition_of(kTarget, kBucket);
    EXPECT_TRUE((*reader)
                    ->visit_batches(partition, kTarget, session,
                                    [&](const BatchRecord&) {
                                        ++stored.batch_count;
                                        return Visit::kContinue;
                                    })
                    .ok());
    EXPECT_TRUE(visit_blocks(**reader, partition, kTarget, session, kSamples, [&](const BlockKey&, std::string_view) {
                    ++stored.block_count;
                    return Visit::kContinue;
                }).ok());
    return stored;
}

TEST(CompactionProgram, CompactsWhatAnEarlierOneLeftWhileItServes) {
    const TemporaryFolder folder;
    make_store(folder / "data");
    GatewayProgram gateway{folder / "data",
                           "tcp://127.0.0.1:*",
                           "none",
                           program_path("perfleet-gateway"),
                           {},
                           {"--metrics", "127.0.0.1:*"}};
    SamplePeer peer{gateway.listen()};
    peer.greet(sample_session(kTarget, kNewSession));
    for (std::uint64_t seq = 1; seq <= 20; ++seq) {
        peer.send(sample::batch(sample_batch(kTarget, kNewSession, Seq{seq}, kBucket)));
    }
    peer.wait_for_prefix(20);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{kTimeoutS};
    ScrapedPage page = scrape(gateway.metrics());
    while (page.value("perfleet_gateway_compaction_batches_total").value_or(0) < kBatches &&
           std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
        page = scrape(gateway.metrics());
    }
    EXPECT_EQ(page.all_problems(), "");
    EXPECT_GE(page.value("perfleet_gateway_compaction_batches_total"), kBatches);
    EXPECT_GE(page.value("perfleet_gateway_compaction_blocks_in_total"), kBatches);
    EXPECT_GE(page.value("perfleet_gateway_compaction_blocks_out_total"), 1);
    EXPECT_LT(page.value("perfleet_gateway_compaction_bytes_out_total"),
              page.value("perfleet_gateway_compaction_bytes_in_total"));
    EXPECT_EQ(page.value("perfleet_gateway_compaction_failures_total"), 0);
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    EXPECT_EQ(stored_of(folder / "data", kSession).batch_count, kBatches);
    EXPECT_EQ(stored_of(folder / "data", kSession).block_count, 1U);
    EXPECT_EQ(stored_of(folder / "data", kNewSession).batch_count, 20U);
    const Finished verified =
        run({program_path("perfleet"), "inspect", "--verify", "--data", folder / "data", "--format", "json"});
    EXPECT_EQ(verified.ending.status, 0) << verified.output << verified.error_output;
}

TEST(CompactionProgram, LeavesBatchesAsTheyCameWhenAskedTo) {
    const TemporaryFolder folder;
    make_store(folder / "data");
    GatewayProgram gateway{folder / "data",    "tcp://127.0.0.1:*", "none", program_path("perfleet-gateway"), {},
                           {"--no-compaction"}};
    SamplePeer peer{gateway.listen()};
    peer.greet(sample_session(kTarget, kNewSession));
    peer.send(sample::batch(sample_batch(kTarget, kNewSession, Seq{1}, kBucket)));
    peer.wait_for_prefix(1);
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    EXPECT_EQ(stored_of(folder / "data", kSession).block_count, kBatches);
}

}  // namespace
}  // namespace perfleet::end_to_end::compaction_program_test
