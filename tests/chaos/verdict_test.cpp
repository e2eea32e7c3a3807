// The verdict itself: a sound session passes, and each possible fault of one is noticed.
#include "tests/chaos/verdict.h"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <numeric>

#include "storage/store/memory_store.h"
#include "storage/store/testing/sample_batches.h"
#include "tests/end_to_end/process.h"

namespace perfleet::chaos {
namespace {

constexpr TargetId kTarget{7};
constexpr SessionId kSession{1, 2};
constexpr Series kSamples{Kind::kSample, EventNumber{0}};
constexpr BucketNumber kBucket{490'000};
constexpr Partition kPartition{kBucket, 0, 7};

// Five batches of 10 rows: 1 and 2 acknowledged, 3 dropped, 4 and 5 acknowledged; 5 rows lost at the ring between 4
// and 5; then the Bye.
class Verdict : public testing::Test {
protected:
    Verdict() {
        for (std::uint64_t seq = 1; seq <= 5; ++seq) {
            const std::uint64_t first = seq < 5 ? 10 * seq - 9 : 46;
            seal(seq, {first, first + 9});
            if (seq != 3) {
                store(seq);
            }
        }
        log_.session = kSession;
        log_.target = kTarget;
        log_.produced[kSamples] = 55;
        log_.accounted[kSamples] = 55;
        log_.ring_full[kSamples] = 5;
        log_.sent = {1, 2, 3, 4, 5};
        log_.dropped = {3};
        log_.acknowledged = 5;
        log_.is_finish_acknowledged = true;
        log_.was_bye_sent = true;
        log_.end = "finished";
        stored_.target = kTarget;
        stored_.session = kSession;
        stored_.watermark = Seq{5};
        stored_.end = SessionEnd{Seq{5},
                                 {{kSamples, CountName::kProduced, 55},
                                  {kSamples, CountName::kLostRingFull, 5},
                                  {kSamples, CountName::kLostSpoolFull, 10}},
                                 {{Seq{3}, Seq{3}}},
                                 {}};
    }

    void seal(std::uint64_t seq, RowRange rows) {
        SourceLog::Sealed sealed;
        sealed.bucket = kBucket;
        sealed.rows[kSamples] = rows;
        sealed.produced[kSamples] = rows.last;
        sealed.ring_full[kSamples] = seq == 5 ? 5 : 0;
        log_.sealed[seq] = sealed;
    }

    void store(std::uint64_t seq) {
        const SourceLog::Sealed& sealed = log_.sealed.at(seq);
        BatchRecord record;
        record.seq = Seq{seq};
        record.bucket = kBucket;
        record.rows.push_back({kSamples, 10, Ticks{seq}, Ticks{seq}});
        record.counts.push_back({kSamples, CountName::kProduced, sealed.produced.at(kSamples)});
        record.counts.push_back({kSamples, CountName::kLostRingFull, sealed.ring_full.at(kSamples)});
        stored_.batches.push_back(record);
        StoredSession::Block block{kPartition, kSamples, Seq{seq}, Seq{seq}, std::vector<std::uint64_t>(10)};
        std::iota(block.values.begin(), block.values.end(), sealed.rows.at(kSamples).first);
        stored_.blocks.push_back(block);
    }

    void unstore(std::uint64_t seq) {
        std::erase_if(stored_.batches, [&](const BatchRecord& batch) { return batch.seq.value == seq; });
        std::erase_if(stored_.blocks, [&](const StoredSession::Block& block) { return block.first_seq.value == seq; });
    }

    CountEntry& end_count(CountName name) {
        return *std::find_if(stored_.end->counts.begin(), stored_.end->counts.end(),
                             [&](const CountEntry& entry) { return entry.name == name; });
    }

    void expect_sound() const {
        for (const std::string& warning : judge(log_, &stored_, circumstances_)) {
            ADD_FAILURE() << warning;
        }
    }

    void expect_noticed(const std::string& words) const {
        std::string all;
        for (const std::string& warning : judge(log_, &stored_, circumstances_)) {
            all += warning + "\n";
        }
        EXPECT_NE(all.find(words), std::string::npos) << (all.empty() ? "nothing was noticed" : all);
    }

    SourceLog log_;
    StoredSession stored_;
    Circumstances circumstances_;
};

TEST_F(Verdict, PassesASoundSession) { expect_sound(); }

TEST_F(Verdict, NoticesARowThatIsMissing) {
    stored_.blocks[1].values.pop_back();
    expect_noticed("batch 2 should have 10 rows");
}

TEST_F(Verdict, NoticesARowThatIsThereTwice) {
    stored_.blocks[1].values.back() = stored_.blocks[1].values.front();
    expect_noticed("there twice");
}

TEST_F(Verdict, NoticesARowOfAnotherBatch) {
    std::swap(stored_.blocks[0].values, stored_.blocks[1].values);
    expect_noticed("not those that were sealed");
}

TEST_F(Verdict, NoticesARowThatNobodyProduced) {
    stored_.blocks[0].values[3] = 77;
    expect_noticed("never produced");
}

TEST_F(Verdict, NoticesABatchThatIsThereTwice) {
    stored_.batches.push_back(stored_.batches[0]);
    expect_noticed("batch 1 is stored twice");
}

TEST_F(Verdict, NoticesABlockThatIsGone) {
    stored_.blocks.pop_back();
    expect_noticed("its block has 0");
}

TEST_F(Verdict, NoticesAnAcknowledgedBatchThatIsGone) {
    unstore(4);
    expect_noticed("1 acknowledged batches are not there, the first is 4");
}

TEST_F(Verdict, NoticesAnAcknowledgedBatchThatIsGoneFromAKilledSource) {
    stored_.end.reset();
    log_.end.clear();
    log_.is_finish_acknowledged = false;
    expect_sound();
    unstore(4);
    expect_noticed("1 acknowledged batches are not there");
}

TEST_F(Verdict, NoticesAPromiseBeyondTheWatermark) {
    stored_.watermark = Seq{3};
    expect_sound();  // 4 and 5 are there
    stored_.watermark = Seq{2};
    expect_noticed("the watermark is 2, and 3 is not there");
}

TEST_F(Verdict, NoticesAPromiseOfWhatWasNeverSealed) {
    log_.acknowledged = 6;
    expect_noticed("never sealed");
}

TEST_F(Verdict, NoticesAnEndThatIsGone) {
    stored_.end.reset();
    expect_noticed("there is no end");
}

TEST_F(Verdict, NoticesASessionThatIsGone) { EXPECT_FALSE(judge(log_, nullptr, circumstances_).empty()); }

TEST_F(Verdict, NoticesEachCountThatIsOff) {
    for (const CountName name : {CountName::kProduced, CountName::kLostRingFull, CountName::kLostSpoolFull}) {
        for (const int change : {-1, 1}) {
            const std::uint64_t before = end_count(name).value;
            end_count(name).value += static_cast<std::uint64_t>(change);
            expect_noticed("sample/0");
            end_count(name).value = before;
        }
    }
    ++stored_.batches[2].counts[0].value;
    expect_noticed("batch 4 says produced 41");
}

TEST_F(Verdict, NoticesALossThatNobodyKnows) {
    stored_.end->counts.push_back({kSamples, CountName::kLostQuota, 1});
    expect_noticed("produced 55, but stored 40");
}

TEST_F(Verdict, NoticesADroppedBatchThatNobodyNames) {
    stored_.end->dropped.clear();
    expect_noticed("batch 3 was dropped, and nobody names it");
}

TEST_F(Verdict, NoticesANameForWhatWasNotDropped) {
    stored_.end->dropped.push_back({Seq{4}, Seq{4}});
    unstore(4);
    expect_noticed("batch 4 is named as dropped, and wasn't");
}

TEST_F(Verdict, TakesADroppedBatchThatArrivedOffTheLosses) {
    store(3);
    expect_sound();
}

TEST_F(Verdict, TakesExpiredRowsOnlyWherePartitionsWereDropped) {
    for (std::uint64_t seq = 1; seq <= 5; ++seq) {
        unstore(seq);
    }
    stored_.expired[kSamples] = 40;
    expect_noticed("acknowledged batches are not there");
    circumstances_.dropped_buckets.insert(kBucket);
    expect_sound();
    stored_.expired[kSamples] = 39;
    expect_noticed("produced 55");
}

TEST_F(Verdict, WantsAnEndOfAKilledSourceWithADiskSpool) {
    stored_.end.reset();
    log_.end.clear();
    log_.is_finish_acknowledged = false;
    circumstances_.has_disk_spool = true;
    expect_noticed("its counters were on disk");
}

TEST_F(Verdict, AllowsAnOldEndWhereThePowerWasLost) {
    log_.end.clear();
    log_.is_finish_acknowledged = false;
    end_count(CountName::kProduced).value = 30;
    end_count(CountName::kLostRingFull).value = 0;
    end_count(CountName::kLostSpoolFull).value = 0;
    expect_noticed("the end says produced 30");
    circumstances_.has_lost_power = true;
    expect_sound();
    stored_.end->dropped.clear();
    expect_sound();
    end_count(CountName::kProduced).value = 56;
    expect_noticed("the end says produced 56");
    end_count(CountName::kProduced).value = 4;
    end_count(CountName::kLostRingFull).value = 5;
    expect_noticed("produced 4 and lost 5");
    stored_.end.reset();
    expect_sound();
}

TEST_F(Verdict, WantsAcknowledgedRowsOnceWhereThePowerWasLost) {
    log_.end.clear();
    log_.is_finish_acknowledged = false;
    circumstances_.has_lost_power = true;
    circumstances_.has_disk_spool = true;
    stored_.batches.push_back(stored_.batches[0]);
    expect_noticed("batch 1 is stored twice");
    stored_.batches.pop_back();
    unstore(4);
    expect_noticed("1 acknowledged batches are not there");
}

TEST_F(Verdict, WantsAnImpostorRefused) {
    circumstances_.is_impostor = true;
    expect_noticed("was taken");
    log_.is_session_refused = true;
    log_.acknowledged = 0;
    expect_sound();
}

TEST_F(Verdict, AllowsAKilledSourceOneBatchThatItDidNotComeToWriteDown) {
    stored_.end.reset();
    log_.end.clear();
    log_.is_finish_acknowledged = false;
    log_.sealed.erase(5);
    log_.accounted[kSamples] = 45;
    expect_sound();
    log_.sealed.erase(4);
    expect_noticed("never sealed");
}

class Log : public testing::Test {
protected:
    [[nodiscard]] SourceLog read() const {
        auto log = read_source_log(path_);
        EXPECT_TRUE(log.ok()) << log.error().message;
        return *log;
    }

    end_to_end::TemporaryFolder folder_;
    std::string path_ = folder_ / "log";
};

TEST_F(Log, ReadsWhatWasWritten) {
    {
        SourceLogWriter writer{path_};
        writer.session({0xabc, 0xdef}, TargetId{0x123});
        writer.produced(kSamples, {1, 10});
        writer.sealed(Seq{1}, EpochNumber{0}, kBucket, {{kSamples, {1, 4}}});
        writer.ring_full({{kSamples, {5, 6}}});
        writer.sealed(Seq{2}, EpochNumber{1}, kBucket, {{kSamples, {7, 10}}});
        writer.end("gave_up");
    }
    const SourceLog log = read();
    EXPECT_EQ(log.session, (SessionId{0xabc, 0xdef}));
    EXPECT_EQ(log.target, TargetId{0x123});
    EXPECT_EQ(log.produced.at(kSamples), 10U);
    EXPECT_EQ(log.sealed.at(2).rows.at(kSamples), (RowRange{7, 10}));
    EXPECT_EQ(log.sealed.at(2).epoch, EpochNumber{1});
    EXPECT_EQ(log.sealed.at(1).ring_full.size(), 0U);
    EXPECT_EQ(log.sealed.at(2).ring_full.at(kSamples), 2U);
    EXPECT_EQ(log.end, "gave_up");
}

TEST_F(Log, TellsDroppedBatchesFromAcknowledgedAndRefusedOnes) {
    {
        SourceLogWriter writer{path_};
        writer.hello(Seq{1});
        writer.acknowledged(Seq{0}, false);
        writer.sending(Seq{1}, Seq{1});
        writer.acknowledged(Seq{2}, false);
        writer.refused(Seq{4}, 1);
        writer.sending(Seq{6}, Seq{6});
        writer.acknowledged(Seq{7}, false);
        writer.hello(Seq{9});
        writer.bye(Seq{9});
    }
    const SourceLog log = read();
    EXPECT_EQ(log.dropped, (std::set<std::uint64_t>{3, 5, 8, 9}));
    EXPECT_EQ(log.refused, (std::set<std::uint64_t>{4}));
    EXPECT_EQ(log.acknowledged, 7U);
}

TEST_F(Log, PassesOverALineThatAKillCutShort) {
    std::ofstream{path_} << "session 1 2 3\nacknowledged 5 0\nacknowledged 6";
    EXPECT_EQ(read().acknowledged, 5U);
}

TEST_F(Log, RefusesWhatItDoesNotUnderstand) {
    std::ofstream{path_} << "session 1 2 3\nwhat 5\n";
    const auto log = read_source_log(path_);
    ASSERT_FALSE(log.ok());
    EXPECT_NE(log.error().message.find(":2:"), std::string::npos);
}

// From a batch as a collector seals it, through a store, to the input of the verdict.
TEST(StoredSessions, GiveEveryRowOfEveryBatch) {
    const auto store = make_memory_store();
    const SessionRecord record = sample_session(kTarget, kSession);
    for (std::uint64_t seq = 1; seq <= 3; ++seq) {
        SampleBatch batch{kTarget, kSession, Seq{seq}, EpochNumber{0}, kBucket};
        batch.add(kSamples, {{ColumnId::kTime, {seq, seq}}, {ColumnId::kWeight, {2 * seq, 2 * seq + 1}}});
        const AdmittedBatch admitted = batch.build();
        const Partition partition = partition_of(kTarget, kBucket);
        ASSERT_TRUE(store->define(partition, record).ok());
        ASSERT_TRUE(store->put(partition, std::span{&admitted, 1}).ok());
    }
    const auto sessions = scan_store(*store);
    ASSERT_TRUE(sessions.ok());
    ASSERT_EQ(sessions->size(), 1U);
    EXPECT_EQ(sessions->front().batches.size(), 3U);
    ASSERT_EQ(sessions->front().blocks.size(), 3U);
    EXPECT_EQ(sessions->front().blocks[2].values, (std::vector<std::uint64_t>{6, 7}));
}

}  // namespace
}  // namespace perfleet::chaos
