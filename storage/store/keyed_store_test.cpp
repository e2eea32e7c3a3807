// What a store does when its engine fails or its values are damaged.
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
#include "storage/key/key.h"
#include "storage/model/record.h"
#include "storage/read/keyed_reads.h"
#include "storage/store/testing/store_writer.h"
#include "storage/store_limits.h"

namespace perfleet::keyed_store_test {
namespace {

using test_writer::kBucket;
using test_writer::kSeries;
using test_writer::kSession;
using test_writer::kTarget;

constexpr UtcNs kMuchLater{(std::int64_t{kBucket.value} + 100) * kBucketDurationS * kNsPerSecond};

// An engine in memory that fails when it is told to.
class FragileEngine final : public EngineOver {
public:
    struct Shared {
        MemoryEngine engine;
        bool fails_write = false;
        bool fails_erase = false;
        bool has_reopened = false;  // once: it went on from what is on disk
        std::string damaged_key;    // that get() can't read, and visit() can: another file holds it
        std::vector<std::string> calls;
        std::function<void(const KeyRange&)> on_visit;  // once, in the middle of the next visit
        std::function<void()> after_visit;              // each
        std::function<void()> after_write;              // likewise
    };
    explicit FragileEngine(std::shared_ptr<Shared> shared) : EngineOver{shared->engine}, shared_{std::move(shared)} {}

    Result<std::optional<std::string>> get(std::string_view key) const override {
        if (!key.empty() && key == shared_->damaged_key) {
            return Error{ErrorCode::kCorrupt, "a damaged file"};
        }
        return shared_->engine.get(key);
    }
    Result<Done> visit(const KeyRange& range,
                       const std::function<Visit(std::string_view, std::string_view)>& visitor) const override {
        auto visited = shared_->engine.visit(range, visitor);
        if (const auto hook = std::exchange(shared_->on_visit, nullptr)) {
            hook(range);
        }
        if (shared_->after_visit) {
            shared_->after_visit();
        }
        return visited;
    }
    Result<Done> write(const Domain& domain, Guard guard, const Changes& changes) override {
        shared_->calls.emplace_back("write");
        auto written = shared_->fails_write ? Result<Done>{Error{ErrorCode::kFull, "no space"}}
                                            : shared_->engine.write(domain, guard, changes);
        if (shared_->after_write) {
            shared_->after_write();
        }
        return written;
    }
    Result<bool> recover(GoOn) override { return std::exchange(shared_->has_reopened, false); }
    Result<Done> sync() override {
        shared_->calls.emplace_back("sync");
        return Done{};
    }
    Result<Done> erase(const KeyRange& range, std::atomic<bool>* is_stopping) override {
        shared_->calls.emplace_back("erase");
        return shared_->fails_erase ? Result<Done>{Error{ErrorCode::kIo, "no erase"}}
                                    : shared_->engine.erase(range, is_stopping);
    }

private:
    std::shared_ptr<Shared> shared_;
};

class KeyedStore : public testing::Test {
protected:
    void SetUp() override {
        open();
        ASSERT_TRUE(store_->define(test_writer::partition(), test_writer::session()).ok());
    }

    // Forgets what the store remembered.
    void open() { store_ = make_keyed_store(std::make_unique<FragileEngine>(shared_)); }

    Result<std::vector<PutOutcome>> put(std::uint64_t seq) {
        const std::vector batches{test_writer::batch(Seq{seq})};
        return store_->put(test_writer::partition(), batches);
    }

    // Of the watermark's batches; `now` far ahead of all buckets unless it is given.
    void compact(UtcNs now = kMuchLater) {
        auto compacted = store_->compact(now, [](const CompactionStep&) { return Visit::kContinue; });
        ASSERT_TRUE(compacted.ok()) << compacted.error().message;
    }

    std::vector<Partition> partitions() {
        auto found = store_->partitions();
        EXPECT_TRUE(found.ok());
        return *found;
    }

    std::uint64_t expired_rows() {
        auto rows = store_->expired(kTarget, kSession);
        EXPECT_TRUE(rows.ok());
        return rows->empty() ? 0 : rows->at(0).second;
    }

    // Puts another value under a key.
    void damage(const std::string& key, const std::string& value) {
        Changes changes;
        changes.puts.push_back({key, value});
        ASSERT_TRUE(shared_->engine.write({}, 0, changes).ok());
    }

    std::string value_of(const std::string& key) {
        auto value = shared_->engine.get(key);
        EXPECT_TRUE(value.ok() && value->has_value());
        return **value;
    }

    std::shared_ptr<FragileEngine::Shared> shared_ = std::make_shared<FragileEngine::Shared>();
    std::unique_ptr<Store> store_;
};

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

// The engine says once that the disk is full, and then has what is kept for removals.
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

TEST_F(KeyedStore, RemovesNoImageWhileABlockThatMayNameItIsDamaged) {
    SampleBatch batch{kTarget, kSession, Seq{1}, EpochNumber{0}, kBucket};
    batch.add_images({{0, 0, "named", "/bin/true"}});
    const std::vector batches{batch.build()};
    ASSERT_TRUE(store_->put(test_writer::partition(), batches).ok());
    ASSERT_TRUE(store_->put_image("named", {1, "x"}).ok());
    ASSERT_TRUE(store_->put_image("unused", {1, "x"}).ok());
    const std::string key = block_key({test_writer::partition(), kTarget, kSession, {Kind::kImage, kNoEvent}, Seq{1}});
    const std::string value = value_of(key);
    damage(key, "??????");
    EXPECT_EQ(*store_->remove_unused_images(), 0U);
    damage(key, value);
    EXPECT_GT(*store_->remove_unused_images(), 0U);
    EXPECT_TRUE(store_->image("named")->has_value());
    EXPECT_FALSE(store_->image("unused")->has_value());
}

// What another file holds of it may be older.
TEST_F(KeyedStore, WritesADamagedVersionOfItsFormatAnewWhenItIsOpened) {
    FragileEngine engine{shared_};
    ASSERT_TRUE(shared_->engine.erase(everything(), nullptr).ok());
    ASSERT_TRUE(prepare_keyed_store(engine, "/data").ok());
    shared_->calls.clear();
    ASSERT_TRUE(prepare_keyed_store(engine, "/data").ok());
    EXPECT_EQ(shared_->calls, std::vector<std::string>{});
    shared_->damaged_key = format_key();
    ASSERT_TRUE(prepare_keyed_store(engine, "/data").ok());
    EXPECT_EQ(shared_->calls, (std::vector<std::string>{"write", "sync"}));
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

// Compaction begins after remove_sessions() has, is held after one of its visits until the removal is written, and goes
// on: for each visit of its list of partitions, then for each before its first write.
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

TEST_F(KeyedStore, NamesTheKeyOfADamagedValueAndReadsTheOthers) {
    for (const std::uint64_t seq : {1U, 2U, 3U}) {
        ASSERT_TRUE(put(seq).ok());
    }
    const std::string key = partition_batch_key(test_writer::partition(), {kTarget, kSession, Seq{2}});
    std::string value = value_of(key);
    value[value.size() / 2] = static_cast<char>(value[value.size() / 2] ^ 1);
    damage(key, value);
    std::vector<std::uint64_t> seqs;
    auto visited = store_->visit_batches(test_writer::partition(), kTarget, kSession, [&](const BatchRecord& record) {
        seqs.push_back(record.seq.value);
        return Visit::kContinue;
    });
    ASSERT_FALSE(visited.ok());
    EXPECT_EQ(visited.error().code, ErrorCode::kCorrupt);
    EXPECT_NE(visited.error().message.find("batch of target 0000000000000011"), std::string::npos)
        << visited.error().message;
    EXPECT_NE(visited.error().message.find("seq 2"), std::string::npos) << visited.error().message;
    EXPECT_EQ(seqs, (std::vector<std::uint64_t>{1, 3}));
    int block_count = 0;
    ASSERT_TRUE(store_
                    ->visit_blocks(test_writer::partition(), kTarget, kSession, kSeries,
                                   [&](const BlockKey&, std::string_view) {
                                       ++block_count;
                                       return Visit::kContinue;
                                   })
                    .ok());
    EXPECT_EQ(block_count, 3);
    ASSERT_TRUE(store_->drop(test_writer::partition()).ok());
    EXPECT_TRUE(partitions().empty());
    EXPECT_EQ(expired_rows(), 2'000U) << "those of the damaged record can't be counted";
}

// Below the watermark it is resolved, whatever can be read of it: stored again it might be there twice.
TEST_F(KeyedStore, ARepeatOfABatchWhoseRecordIsDamagedIsADuplicate) {
    for (const std::uint64_t seq : {1U, 2U, 3U}) {
        ASSERT_TRUE(put(seq).ok());
    }
    ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{2}).ok());
    damage(partition_batch_key(test_writer::partition(), {kTarget, kSession, Seq{2}}), "??????");
    open();
    const auto repeated = put(2);
    ASSERT_TRUE(repeated.ok()) << repeated.error().message;
    EXPECT_EQ(repeated->at(0), PutOutcome::kDuplicate);
    EXPECT_EQ(put(1)->at(0), PutOutcome::kDuplicate);
    EXPECT_EQ(put(3)->at(0), PutOutcome::kDuplicate);
}

TEST_F(KeyedStore, NamesTheKeyOfEveryDamagedRecord) {
    ASSERT_TRUE(store_->end_session(kTarget, kSession, {}).ok());
    ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{1}).ok());
    ASSERT_TRUE(store_->put_image("id", {1, "x"}).ok());
    damage(session_key(Table::kSessionEnd, kTarget, kSession), "??????");
    damage(session_key(Table::kWatermark, kTarget, kSession), "");
    damage(session_key(Table::kSession, kTarget, kSession), "??????");
    damage(partition_session_key(test_writer::partition(), kTarget, kSession), "??????");
    damage(expired_key(kTarget, kSession, kSeries, test_writer::partition()), "??????");
    damage(image_key("id"), "??????");
    const std::string session = "session 0000000000000abc0000000000000def";
    const auto end = store_->session_end(kTarget, kSession);
    ASSERT_FALSE(end.ok());
    EXPECT_NE(end.error().message.find("end of target 0000000000000011, " + session), std::string::npos);
    const auto watermark = store_->watermark(kTarget, kSession);
    ASSERT_FALSE(watermark.ok());
    EXPECT_EQ(watermark.error().code, ErrorCode::kTruncated);
    EXPECT_NE(watermark.error().message.find("watermark of"), std::string::npos);
    const auto is_told = [&](const std::string& what) {
        const std::vector<std::string> damage = store_->damage();
        return std::any_of(damage.begin(), damage.end(),
                           [&](const std::string& text) { return text.find(what) != std::string::npos; });
    };
    const auto all = store_->all_sessions();
    ASSERT_TRUE(all.ok()) << all.error().message;
    EXPECT_TRUE(all->empty());
    EXPECT_TRUE(is_told("record of target 0000000000000011, " + session));
    const auto here = store_->sessions(test_writer::partition());
    ASSERT_TRUE(here.ok()) << here.error().message;
    EXPECT_TRUE(here->empty());
    EXPECT_TRUE(is_told("in partition 480000/0/1"));
    const auto expired = store_->expired(kTarget, kSession);
    ASSERT_FALSE(expired.ok());
    EXPECT_NE(expired.error().message.find("expired rows of series sample/0"), std::string::npos)
        << expired.error().message;
    const auto image = store_->image("id");
    ASSERT_FALSE(image.ok());
    EXPECT_NE(image.error().message.find("image 6964"), std::string::npos) << image.error().message;
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

TEST(CheckFormat, TellsMissingAndOtherStores) {
    MemoryEngine engine;
    auto none = check_format(engine, "/data");
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
    const auto expect_refused = [&](const std::string& key, std::uint64_t number, const std::string& message) {
        const std::string version = encode_record(number);
        Changes changes;
        changes.puts.push_back({key, version});
        ASSERT_TRUE(engine.write({}, 0, changes).ok());
        auto checked = check_format(engine, "/data");
        ASSERT_FALSE(checked.ok());
        EXPECT_EQ(checked.error().code, ErrorCode::kUnsupported);
        EXPECT_EQ(checked.error().message, message);
    };
    for (const std::uint64_t version : {1ULL, 2ULL}) {
        expect_refused(unreleased_format_key(), version,
                       "/data has a store format from before the first release, which this build doesn't read; give "
                       "another folder (--data)");
    }
    for (const std::uint64_t version : {0ULL, 2ULL, 7ULL}) {
        expect_refused(format_key(), version,
                       "/data has store format " + std::to_string(version) +
                           ", this build reads format 1 only; use the perfleet that wrote it");
    }
}

}  // namespace
}  // namespace perfleet::keyed_store_test
