// The verdict on sessions of perfleet-collector, and its inputs: a real spool file.
#include "tests/chaos/traced_verdict.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <numeric>

#include "target-collector/spool/spool_folder.h"
#include "target-collector/spool/testing/spool_fixture.h"
#include "tests/end_to_end/process.h"

namespace perfleet::chaos::traced_verdict_test {
namespace {

constexpr SessionId kSession{3, 4};
constexpr Partition kPartition{BucketNumber{490'000}, 0, 7};
constexpr std::uint64_t kRun = 2;

// A run that was killed after 40 calls: batches of 10 rows each, of which 1 and 2 were acknowledged, 3 and 4 were in
// the spool; 3 calls were lost in the kernel, 2 by the kill.
class TracedVerdict : public testing::Test {
protected:
    TracedVerdict() {
        stored_.session = kSession;
        for (std::uint64_t seq = 1; seq <= 4; ++seq) {
            // The calls 21 to 23 were lost.
            store(seq, kRun * kCallsPerRun + 10 * (seq - 1) + (seq > 2 ? 4 : 1));
        }
        stored_.end = SessionEnd{Seq{4},
                                 {{kTracedCalls, CountName::kProduced, 45},
                                  {kTracedCalls, CountName::kLostKernelRing, 3},
                                  {kTracedCalls, CountName::kLostKilled, 2}},
                                 {},
                                 {}};
        log_.has_spool = true;
        log_.begun[kRun] = 50;
        KeptSession kept;
        kept.session = kSession;
        kept.first_kept = Seq{3};
        kept.own_counts = stored_.end->counts;
        for (const std::uint64_t seq : {3U, 4U}) {
            kept.batches[Seq{seq}] = {static_cast<std::uint32_t>(seq), kPartition.bucket, {{kTracedCalls, 10}}};
        }
        log_.kept.push_back(kept);
    }

    void store(std::uint64_t seq, std::uint64_t first_number) {
        BatchRecord record;
        record.seq = Seq{seq};
        record.bucket = kPartition.bucket;
        record.seal = static_cast<std::uint32_t>(seq);
        record.rows.push_back({kTracedCalls, 10, Ticks{seq}, Ticks{seq}});
        stored_.batches.push_back(record);
        StoredSession::Block block{kPartition, kTracedCalls, Seq{seq}, Seq{seq}, std::vector<std::uint64_t>(10)};
        std::iota(block.values.begin(), block.values.end(), first_number);
        stored_.blocks.push_back(block);
    }

    void unstore(std::uint64_t seq) {
        std::erase_if(stored_.batches, [&](const BatchRecord& batch) { return batch.seq.value == seq; });
        std::erase_if(stored_.blocks, [&](const StoredSession::Block& block) { return block.first_seq.value == seq; });
    }

    [[nodiscard]] std::vector<std::string> warnings() const {
        return judge_traced(log_, {&stored_, 1}, circumstances_);
    }
    void expect_sound() const {
        for (const std::string& warning : warnings()) {
            ADD_FAILURE() << warning;
        }
    }
    void expect_noticed(const std::string& words) const {
        std::string all;
        for (const std::string& warning : warnings()) {
            all += warning + "\n";
        }
        EXPECT_NE(all.find(words), std::string::npos) << (all.empty() ? "nothing was noticed" : all);
    }

    TracedLog log_;
    StoredSession stored_;
    Circumstances circumstances_;
};

TEST_F(TracedVerdict, PassesASoundSession) { expect_sound(); }

TEST_F(TracedVerdict, NoticesARowThatIsThereTwice) {
    stored_.blocks[1].values[0] = stored_.blocks[0].values[0];
    expect_noticed("there twice");
}

TEST_F(TracedVerdict, NoticesARowOfNoCall) {
    log_.begun[kRun] = 42;
    expect_noticed("of no call");
    log_.begun[kRun] = 50;
    stored_.blocks[0].values[0] += kCallsPerRun;
    expect_noticed("of no call");
}

TEST_F(TracedVerdict, NoticesABatchThatIsThereTwice) {
    stored_.batches.push_back(stored_.batches[0]);
    expect_noticed("batch 1 is stored twice");
}

TEST_F(TracedVerdict, NoticesARowThatIsMissing) {
    stored_.blocks[3].values.pop_back();
    expect_noticed("batch 4 should have 10 rows");
}

TEST_F(TracedVerdict, NoticesAnAcknowledgedBatchThatIsMissing) {
    unstore(2);
    expect_noticed("batch 2 had left the spool");
    expect_noticed("stored 30");
    expect_noticed("13 calls are missing");
}

TEST_F(TracedVerdict, NoticesASpooledBatchThatIsMissing) {
    unstore(4);
    expect_noticed("batch 4 stood in the spool");
}

TEST_F(TracedVerdict, NoticesASpooledBatchThatIsAnother) {
    stored_.batches[2].seal ^= 1;
    expect_noticed("batch 3 isn't the one");
}

TEST_F(TracedVerdict, NoticesAnEndThatSaysOtherwiseThanTheDisk) {
    stored_.end->counts[0].value = 44;
    stored_.end->counts[2].value = 1;
    expect_noticed("says produced 44, on disk it was 45");
}

TEST_F(TracedVerdict, NoticesMoreThanThereWasToSee) {
    stored_.end->counts[0].value = 55;
    stored_.end->counts[2].value = 12;
    log_.kept.clear();
    expect_noticed("the end says produced 55");
}

TEST_F(TracedVerdict, NoticesASessionWithoutItsEnd) {
    stored_.end.reset();
    expect_noticed("has no end");
    log_.kept.clear();
    log_.has_spool = false;
    expect_sound();
}

TEST_F(TracedVerdict, NoticesASessionThatNobodyStored) {
    for (const std::string& warning : judge_traced(log_, {}, circumstances_)) {
        EXPECT_NE(warning.find("the store doesn't know it"), std::string::npos) << warning;
    }
    EXPECT_EQ(judge_traced(log_, {}, circumstances_).size(), 1U);
    log_.power_lost.insert(kSession);
    EXPECT_TRUE(judge_traced(log_, {}, circumstances_).empty());
}

TEST_F(TracedVerdict, NoticesOneRunInTwoSessions) {
    const std::vector sessions{stored_, stored_};
    const auto all = judge_traced(log_, sessions, circumstances_);
    EXPECT_TRUE(std::any_of(all.begin(), all.end(),
                            [](const std::string& text) { return text.find("two sessions") != std::string::npos; }));
}

TEST_F(TracedVerdict, HoldsARunThatFinishedToAllItsCalls) {
    log_.finished[kRun] = 45;
    expect_sound();
    log_.finished[kRun] = 46;
    expect_noticed("46 calls were made, its session says produced 45");
    log_.finished[kRun + 1] = 1;
    expect_noticed("1 calls were made, its session says produced nothing");
}

TEST_F(TracedVerdict, KnowsWhatTheCollectorDropped) {
    unstore(2);
    stored_.end->counts.push_back({kTracedCalls, CountName::kLostSpoolFull, 10});
    stored_.end->dropped = {{Seq{2}, Seq{2}}};
    expect_sound();
    unstore(3);
    expect_noticed("batch 3 stood in the spool");
}

TEST_F(TracedVerdict, ExpectsLessOfADiskThatLostItsPower) {
    log_.power_lost.insert(kSession);
    unstore(4);
    expect_sound();
    unstore(1);
    expect_noticed("batch 1 had left the spool");
    // A run between that loss of power and a kill has dropped what the disk had forgotten.
    log_.kept[0].is_since_power_loss = true;
    expect_sound();
}

TEST_F(TracedVerdict, ExpectsLessWherePartitionsWereDropped) {
    circumstances_.dropped_buckets = {kPartition.bucket};
    unstore(4);
    stored_.expired = {{kTracedCalls, 10}};
    expect_sound();
    circumstances_.dropped_buckets.clear();
    expect_noticed("10 rows expired");
}

// A collector's spool file as a kill leaves it, put into the place from which the log is read.
TEST(TracedLogs, GiveWhatAKilledCollectorKept) {
    const end_to_end::TemporaryFolder folder;
    const std::filesystem::path kept = folder / "kept.1";
    std::filesystem::create_directory(kept);
    {
        const std::uint64_t begun = 42;
        std::ofstream{folder / "begun.7", std::ios::binary}.write(reinterpret_cast<const char*>(&begun), sizeof begun);
        std::ofstream{folder / "finished"} << "7 42\n";
        std::ofstream{folder / "power-lost"} << "00000000000000030000000000000004\n";
        const auto spool = spool_test::open_folder(kept.string(), 1 << 22);
        const auto file = spool->create(kSession, spool_test::hello_of(kSession));
        ASSERT_TRUE(file.ok()) << file.error().message;
    }
    const auto log = read_traced_log(folder / "");
    ASSERT_TRUE(log.ok()) << log.error().message;
    EXPECT_TRUE(log->has_spool);
    EXPECT_EQ(log->begun.at(7), 42U);
    EXPECT_EQ(log->finished.at(7), 42U);
    EXPECT_TRUE(log->power_lost.contains(kSession));
    ASSERT_EQ(log->kept.size(), 1U);
    EXPECT_EQ(log->kept[0].session, kSession);
    EXPECT_TRUE(log->kept[0].batches.empty());
    EXPECT_FALSE(log->kept[0].is_since_power_loss);
    std::filesystem::rename(kept, folder / "kept-since-power-loss.1");
    EXPECT_TRUE(read_traced_log(folder / "")->kept[0].is_since_power_loss);
    std::ofstream{folder / "what"} << "?";
    EXPECT_FALSE(read_traced_log(folder / "").ok());
}

TEST(TracedLogs, AreNotReadPastASpoolFileThatNobodyUnderstands) {
    const end_to_end::TemporaryFolder folder;
    std::filesystem::create_directory(folder / "kept.1");
    std::ofstream{folder / "kept.1/00000000000000030000000000000004.spool"} << "no spool";
    const auto log = read_traced_log(folder / "");
    ASSERT_FALSE(log.ok());
    EXPECT_NE(log.error().message.find("kept.1"), std::string::npos) << log.error().message;
}

}  // namespace
}  // namespace perfleet::chaos::traced_verdict_test
