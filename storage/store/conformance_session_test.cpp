// Conformance of engines: sessions, partitions, watermarks, drops, images.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "storage/limits/store_limits.h"
#include "storage/store/testing/conformance.h"

namespace perfleet::conformance::conformance_session_test {
namespace {

TEST_P(StoreConformance, KeepsPartitionsTargetsAndSessionsApart) {
    constexpr SessionId kOther{0xabc, 0xdf0};
    constexpr TargetId kFar{kTarget.value + 1};
    constexpr BucketNumber kNext{kBucket.value + 1};
    define();
    define(kNext);
    define(kBucket, kOther);
    define(kBucket, kSession, kFar);
    put({sample_batch(Seq{1}, {1}), sample_batch(Seq{2}, {1}, kBucket, kOther)});
    put({sample_batch(Seq{3}, {1}, kNext)}, kNext);
    const std::vector far{sample_batch(Seq{1}, {1}, kBucket, kSession, kFar)};
    auto outcomes = store_->put(partition_of(kFar, kBucket), far);
    ASSERT_TRUE(outcomes.ok());
    EXPECT_EQ(*outcomes, Outcomes{PutOutcome::kStored});
    reopen();

    auto partitions = store_->partitions();
    ASSERT_TRUE(partitions.ok());
    EXPECT_EQ(*partitions, (std::vector{partition_in(kBucket), partition_of(kFar, kBucket), partition_in(kNext)}));
    EXPECT_EQ(seqs(), Seqs{1});
    EXPECT_EQ(seqs(kBucket, kOther), Seqs{2});
    EXPECT_EQ(seqs(kNext), Seqs{3});
    EXPECT_EQ(block_seqs(kBucket, kOther), Seqs{2});
    EXPECT_TRUE(block_seqs(kBucket, kOther, {Kind::kSample, EventNumber{1}}).empty());

    auto here = store_->sessions(partition_in(kBucket));
    ASSERT_TRUE(here.ok());
    EXPECT_EQ(*here, (std::vector{sample_session(kTarget, kSession), sample_session(kTarget, kOther)}));
    auto there = store_->sessions(partition_of(kFar, kBucket));
    ASSERT_TRUE(there.ok());
    EXPECT_EQ(*there, std::vector{sample_session(kFar, kSession)});
    auto all = store_->all_sessions();
    ASSERT_TRUE(all.ok());
    EXPECT_EQ(*all, (std::vector{sample_session(kTarget, kSession), sample_session(kTarget, kOther),
                                 sample_session(kFar, kSession)}));
}

TEST_P(StoreConformance, DefinesASessionAgainWithNewWordsButTheSameMeaning) {
    define();
    SessionRecord again = sample_session(kTarget, kSession);
    again.labels = {{"rack", "9"}};
    ASSERT_TRUE(store_->define(partition_in(kBucket), again).ok());
    auto all = store_->all_sessions();
    ASSERT_TRUE(all.ok());
    EXPECT_EQ(*all, std::vector{again});

    again.events.pop_back();
    auto refused = store_->define(partition_in(kBucket), again);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    again = sample_session(kTarget, kSession);
    again.ticks_per_second = 1;
    EXPECT_FALSE(store_->define(partition_in(kBucket), again).ok());
}

TEST_P(StoreConformance, CountsTheRowsOfADroppedPartitionAsExpired) {
    constexpr BucketNumber kNext{kBucket.value + 1};
    define();
    define(kNext);
    SampleBatch sample{kTarget, kSession, Seq{1}, EpochNumber{0}, kBucket};
    sample.add(kSamples, {{ColumnId::kTime, {1, 2, 3}}}).add_strings({{1, "a"}, {2, "b"}});
    put({sample.build(), sample_batch(Seq{2}, {4})});
    put({sample_batch(Seq{3}, {5}, kNext)}, kNext);
    ASSERT_TRUE(store_->drop(partition_in(kBucket)).ok());

    const std::vector<std::pair<Series, std::uint64_t>> expected{{kSamples, 4}, {{Kind::kString, kNoEvent}, 2}};
    for (int round = 0; round < 3; ++round) {
        auto expired = store_->expired(kTarget, kSession);
        ASSERT_TRUE(expired.ok());
        EXPECT_EQ(*expired, expected);
        EXPECT_TRUE(seqs().empty());
        EXPECT_TRUE(block_seqs().empty());
        EXPECT_EQ(seqs(kNext), Seqs{3});
        auto partitions = store_->partitions();
        ASSERT_TRUE(partitions.ok());
        EXPECT_EQ(*partitions, std::vector{partition_in(kNext)});
        auto all = store_->all_sessions();
        ASSERT_TRUE(all.ok());
        EXPECT_EQ(all->size(), 1U);
        if (round == 0) {
            reopen();
        } else {
            ASSERT_TRUE(store_->drop(partition_in(kBucket)).ok()) << "a second drop counts nothing";
        }
    }
}

TEST_P(StoreConformance, CountsWhatComesAfterTheDropOnce) {
    define();
    put({sample_batch(Seq{1}, {1})});
    ASSERT_TRUE(store_->drop(partition_in(kBucket)).ok());
    EXPECT_EQ(put({sample_batch(Seq{2}, {1, 2})}), Outcomes{PutOutcome::kExpired});
    EXPECT_EQ(put({sample_batch(Seq{2}, {1, 2})}), Outcomes{PutOutcome::kDuplicate});
    EXPECT_EQ(put({sample_batch(Seq{2}, {1, 3})}), Outcomes{PutOutcome::kConflict});
    EXPECT_EQ(put({sample_batch(Seq{1}, {1})}), Outcomes{PutOutcome::kDuplicate}) << "it was counted by the drop";
    reopen();
    EXPECT_EQ(put({sample_batch(Seq{2}, {1, 2})}), Outcomes{PutOutcome::kDuplicate});
    EXPECT_EQ(put({sample_batch(Seq{1}, {1})}), Outcomes{PutOutcome::kDuplicate});
    auto expired = store_->expired(kTarget, kSession);
    ASSERT_TRUE(expired.ok());
    EXPECT_EQ(*expired, (std::vector<std::pair<Series, std::uint64_t>>{{kSamples, 3}}));
    EXPECT_TRUE(seqs().empty());
}

TEST_P(StoreConformance, DropsSeveralPartitionsAndTellsTheRowsThatExpired) {
    constexpr BucketNumber kNext{kBucket.value + 1};
    constexpr TargetId kNeighbour{kTarget.value + 1};
    define();
    define(kNext);
    define(kBucket, kSession, kNeighbour);
    put({sample_batch(Seq{1}, {1, 2, 3}), sample_batch(Seq{2}, {4})});
    put({sample_batch(Seq{3}, {5}, kNext)}, kNext);
    const Partition neighbour = partition_of(kNeighbour, kBucket);
    const std::vector batches{sample_batch(Seq{1}, {7, 8}, kBucket, kSession, kNeighbour)};
    ASSERT_TRUE(store_->put(neighbour, batches).ok());
    std::vector<Partition> bucket;
    for (std::uint16_t shard = 0; shard < limits::kShardsDefault; ++shard) {
        bucket.push_back({kBucket, 0, shard});
    }
    auto size = store_->size_bytes(bucket);
    ASSERT_TRUE(size.ok());
    EXPECT_GT(*size, 0U);
    auto dropped = store_->drop(bucket, nullptr);
    ASSERT_TRUE(dropped.ok()) << dropped.error().message;
    EXPECT_EQ(*dropped, 6U);
    dropped = store_->drop(bucket, nullptr);
    ASSERT_TRUE(dropped.ok());
    EXPECT_EQ(*dropped, 0U) << "they expired before";
    reopen();
    auto partitions = store_->partitions();
    ASSERT_TRUE(partitions.ok());
    EXPECT_EQ(*partitions, std::vector{partition_in(kNext)});
    EXPECT_EQ(store_->expired(kNeighbour, kSession)->at(0).second, 2U);
    EXPECT_EQ(store_->expired(kTarget, kSession)->at(0).second, 4U);
    EXPECT_EQ(seqs(kNext), Seqs{3});
}

TEST_P(StoreConformance, TellsInWhichClassASessionsRowsOfABucketStandAlsoWhenTheyWereDropped) {
    constexpr BucketNumber kNext{kBucket.value + 1};
    constexpr SessionId kOther{7, 8};
    const auto class_of = [&](SessionId session, BucketNumber bucket) {
        auto found = store_->retention_class(kTarget, session, bucket);
        EXPECT_TRUE(found.ok());
        return found.ok() ? *found : std::nullopt;
    };
    EXPECT_EQ(class_of(kSession, kBucket), std::nullopt);
    const Partition partition = partition_of(kTarget, kBucket, 3);
    ASSERT_TRUE(store_->define(partition, sample_session(kTarget, kSession)).ok());
    define(kNext);
    define(kBucket, kOther);
    const std::vector batches{sample_batch(Seq{1}, {1, 2})};
    ASSERT_EQ(store_->put(partition, batches)->at(0), PutOutcome::kStored);
    reopen();
    EXPECT_EQ(class_of(kSession, kBucket), 3);
    EXPECT_EQ(class_of(kSession, kNext), 0);
    EXPECT_EQ(class_of(kOther, kBucket), 0);
    EXPECT_EQ(class_of(kOther, kNext), std::nullopt);
    ASSERT_TRUE(store_->drop(partition).ok());
    ASSERT_TRUE(store_->drop(partition_in(kNext)).ok());
    reopen();
    EXPECT_EQ(class_of(kSession, kBucket), 3);
    EXPECT_EQ(class_of(kOther, kBucket), 0) << "another class of the bucket was dropped";
    EXPECT_EQ(class_of(kSession, kNext), std::nullopt) << "nothing of it was there";
    EXPECT_EQ(store_->expired(kTarget, kSession)->at(0).second, 2U);
}

// Every row is there, or expired, once; whatever was put while the drop counted.
TEST_P(StoreConformance, DropsWhileBatchesComeForTheSamePartition) {
    constexpr std::uint64_t kSeqs = 400;
    define();
    std::atomic<std::uint64_t> put_count{0};
    std::uint64_t dropped_row_count = 0;
    std::thread dropper{[&] {
        while (put_count < kSeqs / 4) {
            std::this_thread::sleep_for(std::chrono::microseconds{50});
        }
        const Partition partition = partition_in(kBucket);
        auto dropped = store_->drop({&partition, 1}, nullptr);
        EXPECT_TRUE(dropped.ok());
        dropped_row_count = dropped.ok() ? *dropped : 0;
    }};
    std::uint64_t stored_count = 0;
    std::uint64_t expired_count = 0;
    for (std::uint64_t seq = 1; seq <= kSeqs; ++seq) {
        const PutOutcome outcome = put({sample_batch(Seq{seq}, {seq, seq + 1})}).at(0);
        ++(outcome == PutOutcome::kStored ? stored_count : expired_count);
        EXPECT_TRUE(outcome == PutOutcome::kStored || outcome == PutOutcome::kExpired);
        if (seq % 7 == 0) {
            EXPECT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{seq}).ok());
        }
        ++put_count;
    }
    dropper.join();
    EXPECT_EQ(stored_count + expired_count, kSeqs);
    EXPECT_EQ(dropped_row_count, 2 * stored_count);
    for (int round = 0; round < 2; ++round) {
        auto expired = store_->expired(kTarget, kSession);
        ASSERT_TRUE(expired.ok());
        EXPECT_EQ(expired->at(0).second, 2 * kSeqs);
        EXPECT_TRUE(seqs().empty());
        reopen();
    }
}

TEST_P(StoreConformance, DoesntBringADroppedPartitionBack) {
    ASSERT_TRUE(store_->drop(partition_in(kBucket)).ok()) << "also one that was never there";
    define();
    EXPECT_EQ(put({sample_batch(Seq{1}, {1})}), Outcomes{PutOutcome::kExpired});
    auto partitions = store_->partitions();
    ASSERT_TRUE(partitions.ok());
    EXPECT_TRUE(partitions->empty());
    auto all = store_->all_sessions();
    ASSERT_TRUE(all.ok());
    EXPECT_EQ(all->size(), 1U);
}

TEST_P(StoreConformance, NeverLowersAWatermark) {
    const auto watermark = [&] {
        auto seq = store_->watermark(kTarget, kSession);
        EXPECT_TRUE(seq.ok());
        return seq->value;
    };
    EXPECT_EQ(watermark(), 0U);
    ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{7}).ok());
    ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{5}).ok());
    EXPECT_EQ(watermark(), 7U);
    reopen();
    EXPECT_EQ(watermark(), 7U);
    ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{6}).ok());
    EXPECT_EQ(watermark(), 7U);
    ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{~0ULL}).ok());
    reopen();
    EXPECT_EQ(watermark(), ~0ULL);
    define();
    EXPECT_EQ(put({sample_batch(Seq{~0ULL}, {1})}), Outcomes{PutOutcome::kDuplicate});
}

TEST_P(StoreConformance, AdvancesTheWatermarksOfManySessionsAtOnce) {
    constexpr SessionId kOther{kSession.high, kSession.low + 1};
    const auto watermark = [&](SessionId session) {
        const auto seq = store_->watermark(kTarget, session);
        EXPECT_TRUE(seq.ok());
        return seq->value;
    };
    const auto advance = [&](std::vector<SessionPrefix> prefixes) {
        EXPECT_TRUE(store_->advance_watermarks(prefixes).ok());
    };
    advance({});
    advance({{kTarget, kSession, Seq{7}}, {kTarget, kOther, Seq{3}}});
    advance({{kTarget, kSession, Seq{5}}, {kTarget, kOther, Seq{4}}});
    for (int round = 0; round < 2; ++round) {
        EXPECT_EQ(watermark(kSession), 7U);
        EXPECT_EQ(watermark(kOther), 4U);
        reopen();
    }
}

TEST_P(StoreConformance, StoresNothingAtOrBelowTheWatermark) {
    define();
    put({sample_batch(Seq{1}, {1})});
    ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{3}).ok());
    EXPECT_EQ(put({sample_batch(Seq{3}, {1}), sample_batch(Seq{1}, {1}), sample_batch(Seq{1}, {2}),
                   sample_batch(Seq{4}, {1})}),
              (Outcomes{PutOutcome::kDuplicate, PutOutcome::kDuplicate, PutOutcome::kConflict, PutOutcome::kStored}));
    EXPECT_EQ(seqs(), (Seqs{1, 4}));
}

TEST_P(StoreConformance, KeepsTheFirstEndOfASession) {
    auto none = store_->session_end(kTarget, kSession);
    ASSERT_TRUE(none.ok());
    EXPECT_FALSE(none->has_value());
    SessionEnd first;
    first.last_seq = Seq{12};
    first.counts = {{kSamples, CountName::kProduced, 99}};
    first.dropped = {{Seq{3}, Seq{4}}};
    first.end_point = {Ticks{1}, UtcNs{2}, 3};
    SessionEnd second = first;
    second.last_seq = Seq{13};
    ASSERT_TRUE(store_->end_session(kTarget, kSession, first).ok());
    ASSERT_TRUE(store_->end_session(kTarget, kSession, second).ok());
    reopen();
    auto end = store_->session_end(kTarget, kSession);
    ASSERT_TRUE(end.ok() && end->has_value());
    EXPECT_EQ(**end, first);
}

TEST_P(StoreConformance, HasTheNumberOfShardsThatItWasCreatedWith) {
    StoreOptions options;
    options.shards = ShardCount{300};
    constexpr TargetId kLast{599};
    TestStores stores{GetParam(), options};
    auto store = stores.open();
    const Partition partition = partition_of(kLast, kBucket, 0, *options.shards);
    EXPECT_EQ(partition.shard, 299U);
    const std::vector batches{sample_batch(Seq{1}, {1, 2, 3}, kBucket, kSession, kLast)};
    ASSERT_TRUE(store->define(partition, sample_session(kLast, kSession)).ok());
    EXPECT_EQ(store->put(partition, batches)->at(0), PutOutcome::kStored);
    ASSERT_TRUE(store->advance_watermark(kLast, kSession, Seq{1}).ok());
    ASSERT_TRUE(store->sync().ok());
    const Partition foreign = partition_of(kLast, kBucket);
    EXPECT_EQ(store->define(foreign, sample_session(kLast, kSession)).error().code, ErrorCode::kInvalid);
    EXPECT_EQ(store->put(foreign, batches).error().code, ErrorCode::kInvalid);
    store = stores.reopen(std::move(store));
    EXPECT_EQ(store->shards(), *options.shards);
    EXPECT_EQ(*store->partitions(), std::vector{partition});
    EXPECT_EQ(store->watermark(kLast, kSession)->value, 1U);
    EXPECT_EQ(store_->shards(), ShardCount{limits::kShardsDefault});
}

TEST_P(StoreConformance, KeepsTheFirstContentOfAnImage) {
    const std::string build_id("\x00\x01\xff", 3);
    auto none = store_->image(build_id);
    EXPECT_FALSE(store_->has_image(build_id).value());
    ASSERT_TRUE(none.ok());
    EXPECT_FALSE(none->has_value());
    std::string bytes(3U << 20, '\0');
    std::mt19937_64 random{3};
    std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<char>(random()); });
    ASSERT_TRUE(store_->put_image(build_id, {2, bytes}).ok());
    ASSERT_TRUE(store_->put_image(build_id, {1, "other"}).ok());
    ASSERT_TRUE(store_->put_image("\x01", {1, ""}).ok());
    reopen();
    auto image = store_->image(build_id);
    ASSERT_TRUE(image.ok() && image->has_value());
    EXPECT_EQ((*image)->type, 2);
    EXPECT_EQ((*image)->bytes, bytes);
    EXPECT_TRUE(store_->has_image(build_id).value());
    EXPECT_FALSE(store_->has_image(build_id + "\x01").value());
    EXPECT_FALSE(store_->has_image(build_id.substr(1)).value());
    auto empty = store_->image("\x01");
    ASSERT_TRUE(empty.ok() && empty->has_value());
    EXPECT_EQ((*empty)->bytes, "");
    EXPECT_FALSE(store_->put_image("", {1, "x"}).ok());
    EXPECT_FALSE(store_->put_image(std::string(21, 'x'), {1, "x"}).ok());
}

}  // namespace
}  // namespace perfleet::conformance::conformance_session_test
