// What a store does when its engine fails, and while it drops, removes and compacts.
#include "storage/store/keyed_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <thread>
#include <utility>

#include "storage/engine/memory_engine.h"
#include "storage/engine/store_format.h"
#include "storage/engine/testing/engine_over.h"
#include "storage/key/key_bytes.h"
#include "storage/limits/store_limits.h"
#include "storage/model/record.h"
#include "storage/read/keyed_reads.h"
#include "storage/store/testing/fragile_store.h"

namespace perfleet::keyed_store_test {
namespace {

TEST_F(KeyedStore, RemembersNothingOfAPutThatFailed) {
    shared_->fails_write = true;
    auto failed = put(1);
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().code, ErrorCode::kFull);
    EXPECT_FALSE(store_->advance_watermark(kTarget, kSession, Seq{1}).ok());
    shared_->fails_write = false;
    auto outcomes = put(1);
    ASSERT_TRUE(outcomes.ok());
    EXPECT_EQ(outcomes->at(0), PutOutcome::kStored);
}

TEST_F(KeyedStore, RemembersNothingOfADefinitionThatFailed) {
    constexpr BucketNumber kNext{kBucket.value + 1};
    const Partition next = partition_of(kTarget, kNext);
    shared_->fails_write = true;
    EXPECT_FALSE(store_->define(next, test_writer::session()).ok());
    shared_->fails_write = false;
    const std::vector batches{test_writer::batch(Seq{1}, kSession, kNext)};
    EXPECT_FALSE(store_->put(next, batches).ok()) << "it isn't defined there";
    ASSERT_TRUE(store_->define(next, test_writer::session()).ok());
    EXPECT_TRUE(store_->put(next, batches).ok());
}

TEST_F(KeyedStore, HidesWhatAnUnfinishedDropLeftAndFinishesItLater) {
    ASSERT_TRUE(put(1).ok());
    shared_->fails_erase = true;
    EXPECT_FALSE(store_->drop(test_writer::partition()).ok());
    shared_->fails_erase = false;
    EXPECT_TRUE(partitions().empty());
    EXPECT_EQ(expired_rows(), 1'000U);
    const std::string left = partition_batch_key(test_writer::partition(), {kTarget, kSession, Seq{1}});
    EXPECT_FALSE(value_of(left).empty());
    open();
    EXPECT_TRUE(partitions().empty());
    EXPECT_EQ(put(1)->at(0), PutOutcome::kDuplicate);
    EXPECT_EQ(put(2)->at(0), PutOutcome::kExpired);

    FragileEngine engine{shared_};
    ASSERT_TRUE(finish_drops(engine).ok());
    auto gone = shared_->engine.get(left);
    ASSERT_TRUE(gone.ok());
    EXPECT_FALSE(gone->has_value());
    open();
    EXPECT_EQ(expired_rows(), 2'000U);
}

TEST_F(KeyedStore, CountsAPartitionOnceWhenItsDropIsRepeated) {
    ASSERT_TRUE(put(1).ok());
    shared_->fails_erase = true;
    EXPECT_FALSE(store_->drop(test_writer::partition()).ok());
    shared_->fails_erase = false;
    ASSERT_TRUE(store_->drop(test_writer::partition()).ok());
    EXPECT_EQ(expired_rows(), 1'000U);
}

TEST_F(KeyedStore, ErasesNothingBeforeMarkAndCountsAreSynced) {
    ASSERT_TRUE(put(1).ok());
    shared_->calls.clear();
    ASSERT_TRUE(store_->drop(test_writer::partition()).ok());
    EXPECT_EQ(shared_->calls, (std::vector<std::string>{"write", "sync", "erase"}));
}

TEST_F(KeyedStore, CountsAgainWhenABatchComesWhileADropCounts) {
    ASSERT_TRUE(put(1).ok());
    std::vector<PutOutcome> outcomes;
    std::string first;  // where a count begins
    std::function<void(const KeyRange&)> on_visit = [&](const KeyRange& range) {
        first = outcomes.empty() ? range.begin : first;
        if (range.begin == first) {
            outcomes.push_back(put(2 + outcomes.size())->at(0));
        }
        if (outcomes.size() < 2) {
            shared_->on_visit = on_visit;
        }
    };
    shared_->on_visit = on_visit;
    ASSERT_TRUE(store_->drop(test_writer::partition()).ok());
    EXPECT_EQ(outcomes, (std::vector{PutOutcome::kStored, PutOutcome::kStored}));
    EXPECT_EQ(expired_rows(), 3'000U);
    EXPECT_EQ(put(3)->at(0), PutOutcome::kDuplicate);
}

// The engine reports once that the disk is full, and then has the space reserved for removals.
TEST_F(KeyedStore, DropsAndRemovesOnADiskThatIsFull) {
    const auto fail_once = [&] {
        shared_->fails_write = true;
        shared_->after_write = [&] { shared_->fails_write = false; };
    };
    ASSERT_TRUE(put(1).ok());
    fail_once();
    const std::vector sessions{SessionName{kTarget, kSession}};
    const auto removed = store_->remove_sessions(sessions, nullptr);
    ASSERT_TRUE(removed.ok()) << removed.error().message;
    EXPECT_EQ(*removed, 1'000U);
    EXPECT_FALSE(has_key(session_partition_key(kTarget, kSession, test_writer::partition())));

    constexpr SessionId kOther{1, 2};
    ASSERT_TRUE(store_->define(test_writer::partition(), sample_session(kTarget, kOther)).ok());
    const std::vector batches{test_writer::batch(Seq{1}, kOther)};
    ASSERT_TRUE(store_->put(test_writer::partition(), batches).ok());
    fail_once();
    const std::vector dropped{test_writer::partition()};
    const auto row_count = store_->drop(dropped, nullptr);
    ASSERT_TRUE(row_count.ok()) << row_count.error().message;
    EXPECT_EQ(*row_count, 1'000U);
}

TEST_F(KeyedStore, SaysOnceThatWhatWasNotSyncedIsGone) {
    const auto put_after_a_reopen = [&](std::uint64_t seq) {
        shared_->has_reopened = true;
        const auto outcomes = put(seq);
        return outcomes.ok() ? "stored" : outcomes.error().message;
    };
    ASSERT_TRUE(put(1).ok());
    EXPECT_NE(put_after_a_reopen(2).find("stored again"), std::string::npos);
    EXPECT_TRUE(put(2).ok());
    ASSERT_TRUE(store_->sync().ok());
    EXPECT_EQ(put_after_a_reopen(3), "stored");
    ASSERT_TRUE(store_->name_session({kTarget, kSession}, "a name").ok());  // which is synced
    EXPECT_EQ(put_after_a_reopen(4), "stored");
}

TEST_F(KeyedStore, WritesNothingWhenAWatermarkStays) {
    ASSERT_TRUE(put(1).ok());
    ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{1}).ok());
    shared_->calls.clear();
    ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{1}).ok());
    ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{0}).ok());
    EXPECT_EQ(shared_->calls, std::vector<std::string>{});
}

TEST_F(KeyedStore, CompactsAgainAfterAStartWhatCameLate) {
    const auto waiting_after_a_start = [&] {
        open();
        compact(UtcNs{0});
        return store_->partitions_to_compact();
    };
    ASSERT_TRUE(put(1).ok() && put(2).ok());
    ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{3}).ok());
    EXPECT_EQ(waiting_after_a_start(), 1U);
    compact();
    EXPECT_EQ(waiting_after_a_start(), 0U);
    EXPECT_EQ(put(2)->at(0), PutOutcome::kDuplicate);
    EXPECT_EQ(waiting_after_a_start(), 0U) << "nothing was stored";
    ASSERT_TRUE(store_->define(test_writer::partition(), sample_session(kTarget, {1, 2})).ok());
    const std::vector late{test_writer::batch(Seq{1}, {1, 2})};
    ASSERT_TRUE(store_->put(test_writer::partition(), late).ok());
    EXPECT_EQ(waiting_after_a_start(), 1U);
}

// Whenever that is, the session's list doesn't name what is dropped.
TEST_F(KeyedStore, CountsAgainWhenASessionIsDefinedWhileADropCounts) {
    constexpr SessionId kOther{1, 2};
    for (int defined_at = 1;; ++defined_at) {
        shared_ = std::make_shared<FragileEngine::Shared>();
        SetUp();
        ASSERT_TRUE(put(1).ok());
        int visits = 0;
        bool is_defined = false;
        shared_->after_visit = [&] {
            if (++visits == defined_at) {
                is_defined = store_->define(test_writer::partition(), sample_session(kTarget, kOther)).ok();
            }
        };
        ASSERT_TRUE(store_->drop(test_writer::partition()).ok());
        shared_->after_visit = nullptr;
        EXPECT_FALSE(has_key(session_partition_key(kTarget, kOther, test_writer::partition()))) << defined_at;
        if (!is_defined) {
            EXPECT_GT(defined_at, 2);
            break;
        }
    }
}

TEST_F(KeyedStore, DropsNothingWhenTheCountsCantBeWritten) {
    ASSERT_TRUE(put(1).ok());
    shared_->fails_write = true;
    EXPECT_FALSE(store_->drop(test_writer::partition()).ok());
    shared_->fails_write = false;
    EXPECT_EQ(partitions().size(), 1U);
    EXPECT_EQ(expired_rows(), 0U);
    EXPECT_EQ(put(2)->at(0), PutOutcome::kStored);
}

// Compaction begins after remove_sessions() has begun. It is held after one of its visits until the removal is written,
// and then continues: for each visit of its list of partitions, then for each before its first write.
TEST_F(KeyedStore, DiscardsWhatCompactionReadBeforeASessionWasRemoved) {
    constexpr UtcNs kOver{(std::int64_t{kBucket.value} + 3) * kBucketDurationS * kNsPerSecond};
    const auto compact = [&](UtcNs now) {
        return store_->compact(now, [](const CompactionStep&) { return Visit::kContinue; }).ok();
    };
    const auto begin_anew = [&](bool has_list) {
        shared_ = std::make_shared<FragileEngine::Shared>();
        SetUp();
        for (const std::uint64_t seq : {1U, 2U, 3U}) {
            ASSERT_TRUE(put(seq).ok());
        }
        ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{3}).ok());
        ASSERT_TRUE(!has_list || compact(UtcNs{0}));
    };
    for (const bool has_list : {false, true}) {
        begin_anew(has_list);
        std::size_t visit_count = 0;
        std::size_t visits_before_write = 0;
        shared_->after_visit = [&] { ++visit_count; };
        shared_->after_write = [&] {
            visits_before_write = visits_before_write == 0 ? visit_count : visits_before_write;
        };
        ASSERT_TRUE(compact(has_list ? kOver : UtcNs{0}));
        const std::size_t visits_to_hold = has_list ? visits_before_write : visit_count;
        ASSERT_GT(visits_to_hold, 1U);

        for (std::size_t held_at = 1; held_at <= visits_to_hold; ++held_at) {
            SCOPED_TRACE(testing::Message()
                         << (has_list ? "compacting" : "listing") << ", held after visit " << held_at);
            begin_anew(has_list);
            std::promise<void> is_held;
            std::promise<void> is_removed;
            std::thread compactor;
            std::atomic<bool> has_compacted = false;
            std::size_t compactor_visits = 0;
            shared_->after_visit = [&] {
                if (!compactor.joinable()) {  // the first of the removal
                    std::promise<void> is_begun;
                    compactor = std::thread{[&] {
                        is_begun.get_future().wait();
                        has_compacted = compact(kOver);
                    }};
                    is_begun.set_value();
                    is_held.get_future().wait();
                } else if (std::this_thread::get_id() == compactor.get_id() && ++compactor_visits == held_at) {
                    is_held.set_value();
                    is_removed.get_future().wait();
                }
            };
            shared_->after_write = [&, is_first = true]() mutable {
                if (std::exchange(is_first, false)) {
                    is_removed.set_value();
                }
            };
            const std::vector sessions{SessionName{kTarget, kSession}};
            auto removed = store_->remove_sessions(sessions, nullptr);
            compactor.join();
            shared_->after_visit = nullptr;
            ASSERT_TRUE(removed.ok()) << removed.error().message;
            EXPECT_TRUE(has_compacted);
            EXPECT_EQ(*removed, 3'000U);
            EXPECT_EQ(expired_rows(), 3'000U);
            EXPECT_TRUE(partitions().empty()) << "something of it was written again";
        }
    }
}

TEST_F(KeyedStore, BoundsWhatItRemembersAboveAWatermark) {
    std::vector<AdmittedBatch> batches;
    const AdmittedBatch pattern = test_writer::batch(Seq{1});
    for (std::uint64_t seq = 1; seq <= limits::kStoreSeqsMax; ++seq) {
        AdmittedBatch batch;
        batch.key = {kTarget, kSession, Seq{seq}};
        batch.record = pattern.record;
        batch.record.seq = Seq{seq};
        batch.record.rows.clear();
        batches.push_back(std::move(batch));
    }
    ASSERT_TRUE(store_->put(test_writer::partition(), batches).ok());
    auto full = put(limits::kStoreSeqsMax + 1);
    ASSERT_FALSE(full.ok());
    EXPECT_EQ(full.error().code, ErrorCode::kFull);
    EXPECT_NE(full.error().message.find("advance it first"), std::string::npos) << full.error().message;
    ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{1}).ok());
    EXPECT_TRUE(put(limits::kStoreSeqsMax + 1).ok());
}

}  // namespace
}  // namespace perfleet::keyed_store_test
