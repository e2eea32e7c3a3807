// The same stored rows give the same bytes, whatever the store does: compaction, retention, backups, copies.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "exporters/report/report.h"
#include "query-engine/statistic/testing/text_query.h"
#include "storage/compact/compaction_step.h"
#include "storage/copy/store_copy.h"
#include "storage/engine/rocksdb/checkpoint.h"
#include "storage/engine/rocksdb/folder.h"
#include "storage/store/open_store.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet::end_to_end::steady_answer_test {
namespace {

constexpr TargetId kTarget{17};
constexpr TargetId kOtherTarget{18};
constexpr SessionId kSession{1, 1};       // of two hours, the first of which is dropped
constexpr SessionId kOtherSession{2, 2};  // of the second hour alone
constexpr BucketNumber kBucket{472'222};
constexpr BucketNumber kNext{472'223};
constexpr Series kSamples{Kind::kSample, EventNumber{0}};
constexpr std::uint64_t kBatches = 300;  // an hour
constexpr std::uint64_t kBatchRows = 20;

void put(Store& store, TargetId target, SessionId session, std::uint64_t first_seq, BucketNumber bucket) {
    const Partition partition = partition_of(target, bucket);
    ASSERT_TRUE(store.define(partition, sample_session(target, session)).ok());
    for (std::uint64_t seq = first_seq; seq < first_seq + kBatches; ++seq) {
        SampleBatch batch{target, session, Seq{seq}, EpochNumber{bucket.value}, bucket};
        std::vector<std::uint64_t> times;
        std::vector<std::uint64_t> stacks;
        for (std::uint64_t row = 0; row < kBatchRows; ++row) {
            times.push_back(seq * kNsPerSecond + row * 1'000'003);
            stacks.push_back(1 + (seq * 7 + row * row) % 5);
        }
        batch.add(kSamples, {{ColumnId::kTime, times}, {ColumnId::kStack, stacks}});
        if (seq == first_seq) {
            batch.add_images({{1, 0, "\x12\x34", "/bin/bash"}});
            batch.add_stacks({{1, 0, 1, 0x10}, {2, 1, 1, 0x20}, {3, 2, 1, 0x30}, {4, 1, 1, 0x40}, {5, 0, 1, 0x50}});
        }
        batch.entry(kSamples, CountName::kProduced, kBatchRows * seq);
        const std::vector batches{batch.build()};
        ASSERT_TRUE(store.put(partition, batches).ok());
    }
    const Seq last{first_seq + kBatches - 1};
    ASSERT_TRUE(store.advance_watermark(target, session, last).ok());
    ASSERT_TRUE(store.sync().ok());
}

std::string answer(const StoreReader& reader, const OptionTexts& options) {
    const auto answered = run_text_query("top", options, reader, {}, UtcNs{0});
    EXPECT_TRUE(answered.ok()) << answered.error().message;
    return answered.ok() ? format_report(*answered, ReportFormat::kJson) : "";
}

TEST(SteadyAnswer, IsTheSameBytesDuringCompactionRetentionBackupAndCopy) {
    auto folder = perfleet::TemporaryFolder::make("perfleet-test-");
    ASSERT_TRUE(folder.ok());
    const std::string data = (*folder)->path() + "/data";
    auto store = open_store(data, {1U << 20});
    ASSERT_TRUE(store.ok());
    put(**store, kTarget, kSession, 1, kBucket);
    put(**store, kTarget, kSession, 1 + kBatches, kNext);
    put(**store, kOtherTarget, kOtherSession, 1, kNext);
    ASSERT_TRUE((*store)
                    ->end_session(kOtherTarget, kOtherSession,
                                  {Seq{kBatches},
                                   {{kSamples, CountName::kProduced, kBatches * kBatchRows}},
                                   {},
                                   {Ticks{kBatches * kNsPerSecond}, {}, 0}})
                    .ok());

    const auto still = open_store_reader(data);      // as a command beside the gateway: of one moment
    const auto following = open_store_reader(data);  // as the query process: brought up to date for each answer
    ASSERT_TRUE(still.ok()) << still.error().message;
    ASSERT_TRUE(following.ok()) << following.error().message;
    const OptionTexts everything;
    const OptionTexts of_other{{"session", "00000000000000020000000000000002"}};
    const std::string expected = answer(**still, everything);
    const std::string expected_of_other = answer(**still, of_other);
    EXPECT_NE(expected.find("/bin/bash"), std::string::npos) << expected;

    std::atomic<bool> is_done{false};
    std::uint64_t compacted_count = 0;
    std::thread keeper{[&] {
        const auto compact = [&] {
            EXPECT_TRUE((*store)
                            ->compact(UtcNs{INT64_MAX / 2},
                                      [&](const CompactionStep& step) {
                                          ++compacted_count;
                                          (void)step;
                                          return Visit::kContinue;
                                      })
                            .ok());
        };
        const std::string path = (*folder)->path();
        EXPECT_TRUE(make_checkpoint(data, path + "/before").ok());
        compact();
        EXPECT_TRUE(make_checkpoint(data, path + "/joined").ok());
        EXPECT_TRUE(copy_store(data, path + "/copy").ok());
        EXPECT_TRUE((*store)->drop(partition_of(kTarget, kBucket)).ok());
        EXPECT_TRUE(make_checkpoint(data, path + "/dropped").ok());
        is_done = true;
    }};
    for (bool was_done = false; !was_done;) {
        was_done = is_done;
        EXPECT_EQ(answer(**still, everything), expected);
        EXPECT_TRUE((*following)->refresh().ok());
        EXPECT_EQ(answer(**following, of_other), expected_of_other);
    }
    keeper.join();
    EXPECT_GT(compacted_count, 0U);
    // Answers from the part kept before the drop, and from a store of it alone, are the same; queries that include
    // later rows report what expired.
    for (const char* kept : {"/before", "/joined", "/copy"}) {
        const auto reader = open_store_reader((*folder)->path() + kept);
        ASSERT_TRUE(reader.ok()) << reader.error().message;
        EXPECT_EQ(answer(**reader, everything), expected) << kept;
    }
    const auto dropped = open_store_reader((*folder)->path() + "/dropped");
    ASSERT_TRUE(dropped.ok()) << dropped.error().message;
    EXPECT_TRUE((*following)->refresh().ok());
    const std::string after = answer(**following, everything);
    EXPECT_EQ(answer(**dropped, everything), after);
    EXPECT_NE(after.find("\"expired\":" + std::to_string(kBatches * kBatchRows)), std::string::npos) << after;
}

}  // namespace
}  // namespace perfleet::end_to_end::steady_answer_test
