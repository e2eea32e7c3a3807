#include "storage/verify/store_sizes.h"

#include <gtest/gtest.h>

#include "storage/block/block.h"
#include "storage/compact/compaction_step.h"
#include "storage/compact/policy.h"
#include "storage/engine/rocksdb/folder.h"
#include "storage/model/record.h"
#include "storage/store/open_store.h"
#include "storage/store/store.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet::store_sizes_test {
namespace {

constexpr TargetId kTarget{17};
constexpr BucketNumber kBucket{480'000};
constexpr Series kSamples{Kind::kSample, EventNumber{0}};

// Against what was put, added up here.
TEST(StoreSizes, AddUpToWhatWasPut) {
    auto folder = TemporaryFolder::make("perfleet-test-");
    ASSERT_TRUE(folder.ok());
    std::uint64_t sample_bytes = 0;
    std::uint64_t time_bytes = 0;
    std::uint64_t string_bytes = 0;
    std::uint64_t record_bytes = 0;
    {
        auto store = open_store((*folder)->path());
        ASSERT_TRUE(store.ok());
        const Partition partition = partition_of(kTarget, kBucket);
        for (std::uint64_t session = 1; session <= 2; ++session) {
            ASSERT_TRUE((*store)->define(partition, sample_session(kTarget, {session, 1})).ok());
            for (std::uint64_t seq = 1; seq <= 3; ++seq) {
                SampleBatch sample{kTarget, {session, 1}, Seq{seq}, EpochNumber{0}, kBucket};
                sample.add(kSamples, {{ColumnId::kTime, {seq, 10 * seq, 100'000 * seq}}});
                sample.add_strings({{static_cast<std::uint32_t>(seq), "name"}});
                const std::vector batches{sample.build()};
                ASSERT_TRUE((*store)->put(partition, batches).ok());
                record_bytes += 1 + 7 + 1 + 24 + 8 + encode_record(batches[0].record).size();
                for (const BatchSeries& series : batches[0].series) {
                    // Table, partition, its table, session, series, seq.
                    const std::uint64_t size_bytes = 1 + 7 + 1 + 24 + 3 + 8 + series.block.size();
                    (series.series == kSamples ? sample_bytes : string_bytes) += size_bytes;
                }
                const auto block = parse_block_untrusted(batches[0].series[0].block);
                ASSERT_TRUE(block.ok());
                time_bytes += block->find(ColumnId::kTime)->bytes.size();
            }
        }
        ASSERT_TRUE((*store)->put_image("build-id", {1, std::string(5'000, 'x')}).ok());
        ASSERT_TRUE((*store)->sync().ok());
    }
    const auto sizes = measure_store((*folder)->path());
    ASSERT_TRUE(sizes.ok()) << sizes.error().message;
    const EventSize& samples = sizes->events.at({Kind::kSample, "cpu-clock"});
    EXPECT_EQ(samples.series_count, 2U);
    EXPECT_EQ(samples.block_count, 6U);
    EXPECT_EQ(samples.row_count, 18U);
    EXPECT_EQ(samples.size_bytes, sample_bytes);
    EXPECT_EQ(samples.column_bytes.at(ColumnId::kTime), time_bytes);
    EXPECT_EQ(sizes->events.at({Kind::kString, ""}).size_bytes, string_bytes);
    EXPECT_EQ(sizes->row_count(Kind::kString), 6U);
    EXPECT_EQ(sizes->batch_count, 6U);
    EXPECT_EQ(sizes->record_bytes, record_bytes);
    EXPECT_EQ(sizes->image_count, 1U);
    EXPECT_GT(sizes->image_bytes, 5'000U);
    EXPECT_EQ(sizes->unreadable_count, 0U);
    EXPECT_EQ(sizes->content_bytes(),
              sample_bytes + string_bytes + sizes->record_bytes + sizes->image_bytes + sizes->session_bytes);
    EXPECT_GE(sizes->log_bytes + sizes->table_file_bytes, sizes->content_bytes());
    EXPECT_FALSE(measure_store((*folder)->path() + "/nothing").ok());
}

TEST(StoreSizes, TellThoseOfSummaries) {
    auto folder = TemporaryFolder::make("perfleet-test-");
    ASSERT_TRUE(folder.ok());
    std::uint64_t count = 0;
    std::uint64_t size_bytes = 0;
    {
        StoreOptions options;
        options.summaries = SummaryPolicy{.hours_min = 1, .saving = 1};
        auto store = open_store((*folder)->path(), options);
        ASSERT_TRUE(store.ok());
        const Partition partition = partition_of(kTarget, kBucket);
        ASSERT_TRUE((*store)->define(partition, sample_session(kTarget, {1, 1})).ok());
        SampleBatch sample{kTarget, {1, 1}, Seq{1}, EpochNumber{0}, kBucket};
        sample.add(kSamples, {{ColumnId::kTime, {1, 2, 3}}});
        ASSERT_TRUE((*store)->put(partition, std::vector{sample.build()}).ok());
        ASSERT_TRUE((*store)->advance_watermark(kTarget, {1, 1}, Seq{1}).ok());
        const UtcNs later{(std::int64_t{kBucket.value} + 48) * kBucketDurationS * kNsPerSecond};
        ASSERT_TRUE((*store)
                        ->compact(later,
                                  [&](const CompactionStep& step) {
                                      count += step.summaries;
                                      size_bytes += step.summary_bytes;
                                      return Visit::kContinue;
                                  })
                        .ok());
    }
    const auto sizes = measure_store((*folder)->path());
    ASSERT_TRUE(sizes.ok()) << sizes.error().message;
    EXPECT_EQ(count, 1U);
    EXPECT_EQ(sizes->summary_count, count);
    EXPECT_EQ(sizes->summary_bytes, size_bytes);
}

TEST(StoreSizes, TellHowManyStacksANodeStandsFor) {
    auto folder = TemporaryFolder::make("perfleet-test-");
    ASSERT_TRUE(folder.ok());
    std::uint64_t size_bytes = 0;
    {
        StoreOptions options;
        options.dictionaries = DictionaryPolicy{.epochs_min = 2, .reuse = 1};
        auto store = open_store((*folder)->path(), options);
        ASSERT_TRUE(store.ok());
        const Partition partition = partition_of(kTarget, kBucket);
        for (std::uint64_t session = 1; session <= 3; ++session) {
            ASSERT_TRUE((*store)->define(partition, sample_session(kTarget, {session, 1})).ok());
            SampleBatch batch{kTarget, {session, 1}, Seq{1}, EpochNumber{0}, kBucket};
            batch.add_images({{0, 0, std::string(20, 'b'), "/bin/true"}});
            batch.add_stacks({{1, 0, 0, 0x10}, {2, 1, 0, 0x20 + session}});
            const std::vector batches{batch.build()};
            ASSERT_TRUE((*store)->put(partition, batches).ok());
            ASSERT_TRUE((*store)->advance_watermark(kTarget, {session, 1}, Seq{1}).ok());
        }
        const UtcNs later{(std::int64_t{kBucket.value} + 48) * kBucketDurationS * kNsPerSecond};
        const auto count = [&](const CompactionStep& step) {
            size_bytes += step.map_bytes;
            return Visit::kContinue;
        };
        ASSERT_TRUE((*store)->compact(later, count).ok());
    }
    const auto sizes = measure_store((*folder)->path());
    ASSERT_TRUE(sizes.ok()) << sizes.error().message;
    EXPECT_EQ(sizes->dictionary_count, 1U);
    EXPECT_EQ(sizes->dictionary_node_count, 4U);
    EXPECT_EQ(sizes->map_count, 3U);
    EXPECT_EQ(sizes->map_node_count, 6U);
    EXPECT_EQ(sizes->dictionary_bytes, size_bytes);
    EXPECT_EQ(sizes->unreadable_count, 0U);
}

TEST(StoreSizes, AreToldByRetentionClassWithWhatExpired) {
    auto folder = TemporaryFolder::make("perfleet-test-");
    ASSERT_TRUE(folder.ok());
    {
        auto store = open_store((*folder)->path());
        ASSERT_TRUE(store.ok());
        std::uint64_t seq = 0;
        for (const std::uint32_t hour : {0U, 1U}) {
            for (const std::uint8_t retention_class : {std::uint8_t{0}, std::uint8_t{9}}) {
                const BucketNumber bucket{kBucket.value + hour};
                const Partition partition = partition_of(kTarget, bucket, retention_class);
                const SessionId session{retention_class, 1};
                ASSERT_TRUE((*store)->define(partition, sample_session(kTarget, session)).ok());
                SampleBatch sample{kTarget, session, Seq{++seq}, EpochNumber{hour}, bucket};
                sample.add(kSamples, {{ColumnId::kTime, std::vector<std::uint64_t>(retention_class + 1U, seq)}});
                const std::vector batches{sample.build()};
                ASSERT_EQ((*store)->put(partition, batches)->at(0), PutOutcome::kStored);
            }
        }
        ASSERT_TRUE((*store)->drop(partition_of(kTarget, kBucket, 9)).ok());
        ASSERT_TRUE((*store)->sync().ok());
    }
    const auto sizes = measure_store((*folder)->path());
    ASSERT_TRUE(sizes.ok()) << sizes.error().message;
    ASSERT_EQ(sizes->classes.size(), 2U);
    EXPECT_EQ(sizes->classes.at(0).row_count, 2U);
    EXPECT_EQ(sizes->classes.at(0).expired_row_count, 0U);
    EXPECT_EQ(sizes->classes.at(9).row_count, 10U);
    EXPECT_EQ(sizes->classes.at(9).expired_row_count, 10U);
    EXPECT_LT(sizes->classes.at(0).size_bytes + sizes->classes.at(9).size_bytes, sizes->content_bytes());
    EXPECT_GT(sizes->classes.at(0).size_bytes, sizes->classes.at(9).size_bytes) << "two hours beside one";
}

}  // namespace
}  // namespace perfleet::store_sizes_test
