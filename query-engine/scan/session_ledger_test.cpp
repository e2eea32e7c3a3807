#include "query-engine/scan/session_ledger.h"

#include <gtest/gtest.h>

namespace perfleet::session_ledger_test {
namespace {

constexpr Series kSamples{Kind::kSample, EventNumber{0}};

// Batches of 10 rows at ticks [100 × seq, 100 × seq + 90], as a collector describes them.
class Scenario {
public:
    // `lost` so far, by reason; produced is what the sealed batches held and the losses.
    Scenario& batch(std::uint64_t seq, const std::vector<std::pair<CountName, std::uint64_t>>& lost = {},
                    std::vector<SeqRange> dropped = {}) {
        BatchRecord record;
        record.seq = Seq{seq};
        record.counts = counts(seq, lost);
        record.dropped = std::move(dropped);
        record.rows.push_back({kSamples, 10, Ticks{100 * seq}, Ticks{100 * seq + 90}});
        session.batches.push_back(record);
        session.batch_partitions.emplace_back();
        return *this;
    }
    Scenario& end(std::uint64_t last_seq, const std::vector<std::pair<CountName, std::uint64_t>>& lost = {},
                  std::vector<SeqRange> dropped = {}) {
        session.end = SessionEnd{Seq{last_seq}, counts(last_seq, lost), std::move(dropped),
                                 ClockPoint{Ticks{100 * last_seq + 99}, UtcNs{0}, 0}};
        return *this;
    }

    Ledger whole() {
        Ledger ledger = session_ledger(session, kSamples, warnings);
        expect_balanced(ledger);
        return ledger;
    }
    Ledger between(std::uint64_t first, std::uint64_t last) {
        Ledger ledger = session_ledger_between(session, kSamples, {Ticks{first}, Ticks{last}}, warnings);
        expect_balanced(ledger);
        return ledger;
    }

    ScannedSession session{SessionRecord{}, ClockMap{0, {}}, {}, {}, {}, {}, {}, std::nullopt, {}, {}};
    std::vector<std::string> warnings;

private:
    static std::vector<CountEntry> counts(std::uint64_t seq,
                                          const std::vector<std::pair<CountName, std::uint64_t>>& lost) {
        std::uint64_t produced = 10 * seq;
        std::vector<CountEntry> counts;
        for (const auto& [name, value] : lost) {
            counts.push_back({kSamples, name, value});
            // Rows of dropped, refused or unflushed batches were produced when they were sealed.
            const bool sealed = name == CountName::kLostSpoolFull || name == CountName::kLostRefused;
            produced += sealed ? 0 : value;
        }
        counts.push_back({kSamples, CountName::kProduced, produced});
        counts.push_back({{Kind::kTask, kNoEvent}, CountName::kProduced, 77});
        return counts;
    }
    static void expect_balanced(const Ledger& ledger) {
        std::uint64_t sum = ledger.stored + ledger.expired + ledger.pending;
        for (const auto& [reason, rows] : ledger.lost) {
            EXPECT_NE(rows, 0U) << reason;
            sum += rows;
        }
        EXPECT_EQ(ledger.produced, sum);
    }
};

using Lost = std::map<std::string, std::uint64_t>;

TEST(SessionLedger, OfWholeSessionHasNothingLost) {
    Scenario scenario;
    scenario.batch(1).batch(2).end(2);
    const Ledger ledger = scenario.whole();
    EXPECT_EQ(ledger.produced, 20U);
    EXPECT_EQ(ledger.stored, 20U);
    EXPECT_TRUE(ledger.lost.empty());
    EXPECT_EQ(ledger.pending, 0U);
}

TEST(SessionLedger, RowsOnTheirWayArePendingUntilTheEndAndMissingAfterIt) {
    Scenario scenario;
    scenario.batch(1).batch(3);
    EXPECT_EQ(scenario.whole().pending, 10U);
    scenario.end(4);
    const Ledger ledger = scenario.whole();
    EXPECT_EQ(ledger.pending, 0U);
    EXPECT_EQ(ledger.lost, (Lost{{"missing", 20}}));
}

TEST(SessionLedger, DroppedBatchThatArrivedIsNotLost) {
    Scenario scenario;
    scenario.batch(1)
        .batch(3)
        .batch(5, {{CountName::kLostSpoolFull, 30}}, {{Seq{2}, Seq{4}}})
        .end(5, {{CountName::kLostSpoolFull, 30}}, {{Seq{2}, Seq{4}}});
    const Ledger ledger = scenario.whole();
    EXPECT_EQ(ledger.stored, 30U);
    EXPECT_EQ(ledger.lost, (Lost{{"spool_full", 20}}));
}

TEST(SessionLedger, ExpiredRowsAreNotMissing) {
    Scenario scenario;
    scenario.batch(3).end(3);
    scenario.session.expired = {{kSamples, 20}};
    const Ledger ledger = scenario.whole();
    EXPECT_EQ(ledger.expired, 20U);
    EXPECT_TRUE(ledger.lost.empty());
    EXPECT_EQ(scenario.between(0, 300).expired, 20U);
    EXPECT_EQ(scenario.between(391, 400).expired, 0U);
}

TEST(SessionLedger, SessionOfWhichAllHasExpiredProducedWhatExpired) {
    Scenario scenario;
    scenario.session.clock = ClockMap{kNsPerSecond, {ClockPoint{Ticks{0}, UtcNs{0}, 0}}};
    scenario.session.expired = {{kSamples, 20}};
    scenario.session.last_expired_bucket = BucketNumber{1};
    EXPECT_EQ(scenario.whole().produced, 20U);
    EXPECT_EQ(scenario.whole().expired, 20U);
    EXPECT_TRUE(scenario.warnings.empty());
    constexpr std::uint64_t kEnd = 2ULL * kBucketDurationS * kNsPerSecond;
    EXPECT_EQ(scenario.between(0, 300).expired, 20U);
    EXPECT_EQ(scenario.between(kEnd - 1, kEnd).expired, 20U);
    EXPECT_EQ(scenario.between(kEnd + 1, ~0ULL).expired, 0U) << "it was over by then";
}

TEST(SessionLedger, OfRangeCountsTheBatchesThatOverlapIt) {
    Scenario scenario;
    scenario.batch(1).batch(2).batch(3).end(3);
    EXPECT_EQ(scenario.between(0, 1'000).stored, 30U);
    EXPECT_EQ(scenario.between(200, 201).stored, 10U);
    EXPECT_EQ(scenario.between(190, 301).stored, 30U);
    EXPECT_EQ(scenario.between(191, 200).stored, 0U);
    EXPECT_EQ(scenario.between(191, 300).stored, 10U);
}

TEST(SessionLedger, OfRangeSaysHowManyRowsAreOfBatchesThatItCuts) {
    Scenario scenario;
    scenario.batch(1).batch(2).batch(3).end(3);
    EXPECT_EQ(scenario.whole().of_cut_batches, 0U);
    EXPECT_EQ(scenario.between(100, 391).of_cut_batches, 0U);
    EXPECT_EQ(scenario.between(101, 391).of_cut_batches, 10U);
    EXPECT_EQ(scenario.between(100, 390).of_cut_batches, 10U);
    EXPECT_EQ(scenario.between(150, 350).of_cut_batches, 20U);
    EXPECT_EQ(scenario.between(250, 260).of_cut_batches, 10U) << "one batch, cut at both ends";
}

TEST(SessionLedger, OfRangeNamesTheLossesThatOverlapIt) {
    Scenario scenario;
    scenario.batch(1)
        .batch(2, {{CountName::kLostKernelRing, 5}})
        .batch(5, {{CountName::kLostKernelRing, 5}})
        .batch(6, {{CountName::kLostKernelRing, 6}, {CountName::kLostSpoolFull, 20}}, {{Seq{3}, Seq{4}}})
        .end(7, {{CountName::kLostKernelRing, 6}, {CountName::kLostSpoolFull, 20}, {CountName::kLostRefused, 10}});
    EXPECT_EQ(scenario.between(0, 100).lost, Lost{});
    EXPECT_EQ(scenario.between(150, 190).lost, Lost{});
    EXPECT_EQ(scenario.between(195, 250).lost, (Lost{{"kernel_ring", 5}}));
    // Reported with batch 6, but lost between 2 and 5.
    EXPECT_EQ(scenario.between(300, 400).lost, (Lost{{"spool_full", 20}}));
    EXPECT_EQ(scenario.between(650, 660).lost, (Lost{{"kernel_ring", 1}}));
    EXPECT_EQ(scenario.between(695, 800).lost, (Lost{{"refused", 10}}));
    EXPECT_EQ(scenario.between(0, 10'000), scenario.whole());
}

// Of two of three dropped batches the rows are stored; the fate of batch 6 is unknown.
TEST(SessionLedger, DroppedBatchesThatArrivedAndMissingOnesAreCountedApart) {
    Scenario scenario;
    scenario.batch(1)
        .batch(2)
        .batch(4)
        .batch(5, {{CountName::kLostSpoolFull, 30}}, {{Seq{2}, Seq{4}}})
        .end(6, {{CountName::kLostSpoolFull, 30}}, {{Seq{2}, Seq{4}}});
    const Ledger ledger = scenario.whole();
    EXPECT_EQ(ledger.stored, 40U);
    EXPECT_EQ(ledger.lost, (Lost{{"spool_full", 10}, {"missing", 10}}));
    EXPECT_TRUE(scenario.warnings.empty());
}

// The last batch of a range and the first one behind it.
TEST(SessionLedger, ADroppedRangeHasBothItsEnds) {
    Scenario scenario;
    scenario.batch(1)
        .batch(2)
        .batch(3)
        .batch(4, {{CountName::kLostSpoolFull, 20}}, {{Seq{2}, Seq{3}}})
        .end(4, {{CountName::kLostSpoolFull, 20}}, {{Seq{2}, Seq{3}}});
    EXPECT_EQ(scenario.whole().lost, Lost{}) << "both arrived";
    EXPECT_EQ(scenario.whole().stored, 40U);
    Scenario behind;
    behind.batch(1)
        .batch(4, {{CountName::kLostSpoolFull, 20}}, {{Seq{2}, Seq{3}}})
        .end(4, {{CountName::kLostSpoolFull, 20}});
    EXPECT_EQ(behind.whole().lost, (Lost{{"spool_full", 20}})) << "neither of those beside it counts as dropped";
}

// Two batches arrived, were dropped or refused all the same, and have expired: they are in two counts.
TEST(SessionLedger, LossesOfBatchesThatExpiredAreTakenOff) {
    Scenario scenario;
    scenario.batch(3, {{CountName::kLostSpoolFull, 10}, {CountName::kLostRefused, 10}})
        .end(3, {{CountName::kLostSpoolFull, 10}, {CountName::kLostRefused, 10}});
    scenario.session.expired = {{kSamples, 20}};
    const Ledger ledger = scenario.whole();
    EXPECT_EQ(ledger.produced, 30U);
    EXPECT_EQ(ledger.expired, 20U);
    EXPECT_EQ(ledger.lost, Lost{});
    EXPECT_TRUE(scenario.warnings.empty());
}

// A batch or an end says what was produced, also where all rows have expired or were lost.
TEST(SessionLedger, AnEndAloneSaysWhatWasProduced) {
    Scenario scenario;
    scenario.end(3, {{CountName::kLostSpoolFull, 10}});
    scenario.session.expired = {{kSamples, 20}};
    EXPECT_EQ(scenario.whole().produced, 30U);
    EXPECT_EQ(scenario.whole().lost, (Lost{{"spool_full", 10}}));
    Scenario running;
    running.batch(2);
    running.session.expired = {{kSamples, 5}};
    EXPECT_EQ(running.whole().produced, 20U);
    EXPECT_EQ(running.whole().pending, 5U);
}

TEST(SessionLedger, WhatADamagedSessionDoesNotHaveIsDamaged) {
    Scenario scenario;
    scenario.batch(1).batch(3).end(3);
    scenario.session.is_damaged = true;
    EXPECT_EQ(scenario.whole().lost, (Lost{{"damaged", 10}}));
    EXPECT_EQ(scenario.between(191, 300).lost, (Lost{{"damaged", 10}}));
    Scenario running;
    running.batch(1).batch(3);
    running.session.is_damaged = true;
    EXPECT_EQ(running.whole().pending, 0U);
}

// As they come from a peer: one in the other, not ascending, and one that ends before it begins.
TEST(SessionLedger, NamedRangesMayOverlap) {
    Scenario scenario;
    const std::vector<SeqRange> dropped{{Seq{7}, Seq{7}}, {Seq{2}, Seq{5}}, {Seq{3}, Seq{3}}, {Seq{9}, Seq{1}}};
    scenario.batch(1)
        .batch(5)
        .batch(6)
        .batch(8, {{CountName::kLostSpoolFull, 50}}, dropped)
        .end(8, {{CountName::kLostSpoolFull, 50}}, dropped);
    EXPECT_EQ(scenario.whole().stored, 40U);
    EXPECT_EQ(scenario.whole().lost, (Lost{{"spool_full", 40}}));
    EXPECT_TRUE(scenario.warnings.empty());
}

TEST(SessionLedger, NamedRangesMayOverlapAtTheirEnds) {
    Scenario scenario;
    const std::vector<SeqRange> dropped{{Seq{2}, Seq{4}}, {Seq{3}, Seq{6}}};
    scenario.batch(1)
        .batch(6)
        .batch(7, {{CountName::kLostSpoolFull, 50}}, dropped)
        .end(7, {{CountName::kLostSpoolFull, 50}}, dropped);
    EXPECT_EQ(scenario.whole().stored, 30U);
    EXPECT_EQ(scenario.whole().lost, (Lost{{"spool_full", 40}})) << "6 arrived all the same";
}

// A loss lies between the last row that its session knew before and the batch that reports it, both included.
TEST(SessionLedger, OfRangeHasTheFirstAndTheLastTickOfALoss) {
    Scenario scenario;
    scenario.batch(1).batch(2, {{CountName::kLostKernelRing, 5}}).end(2, {{CountName::kLostKernelRing, 5}});
    EXPECT_EQ(scenario.between(189, 190).lost, Lost{});
    EXPECT_EQ(scenario.between(190, 191).lost, (Lost{{"kernel_ring", 5}}));
    EXPECT_EQ(scenario.between(290, 291).lost, (Lost{{"kernel_ring", 5}}));
    EXPECT_EQ(scenario.between(291, 400).lost, Lost{});
    EXPECT_EQ(scenario.between(290, 291).stored, 10U);
    EXPECT_EQ(scenario.between(291, 400).stored, 0U);
    EXPECT_EQ(scenario.between(199, 200).stored, 0U);
    EXPECT_EQ(scenario.between(199, 201).stored, 10U);
}

// In the order: dropped by the collector, expired, any other loss of batches, unexplained.
TEST(SessionLedger, OfRangeExplainsAGapByWhatTheWholeSessionLost) {
    Scenario scenario;
    scenario.batch(1)
        .batch(5, {{CountName::kLostSpoolFull, 10}}, {{Seq{2}, Seq{2}}})
        .end(7, {{CountName::kLostSpoolFull, 10}, {CountName::kLostRefused, 20}}, {{Seq{2}, Seq{2}}});
    scenario.session.expired = {{kSamples, 10}};
    const Ledger gap = scenario.between(300, 400);
    EXPECT_EQ(gap.expired, 10U);
    EXPECT_EQ(gap.lost, (Lost{{"spool_full", 10}, {"refused", 10}}));
    EXPECT_EQ(gap.produced, 30U);
    const Ledger end = scenario.between(600, 800);
    EXPECT_EQ(end.expired, 0U);
    EXPECT_EQ(end.lost, (Lost{{"refused", 10}, {"missing", 10}}));
    EXPECT_EQ(scenario.between(0, 10'000), scenario.whole());
}

TEST(SessionLedger, ContradictionBalancesAndWarns) {
    Scenario scenario;
    scenario.batch(1).end(1);
    scenario.session.end->counts.clear();
    EXPECT_EQ(scenario.whole().produced, 10U);
    ASSERT_FALSE(scenario.warnings.empty());
    EXPECT_NE(scenario.warnings.front().find("more are accounted for"), std::string::npos);
}

TEST(SessionLedger, KnowsASessionWhoseCollectorWasKilledFromOneWithACleanEnd) {
    Scenario open;
    EXPECT_FALSE(has_clean_end(open.batch(1).session));
    EXPECT_TRUE(has_clean_end(open.end(1).session));
    open.session.end->counts.push_back({{Kind::kTask, kNoEvent}, CountName::kUncleanEnd, 1});
    EXPECT_FALSE(has_clean_end(open.session));
}

}  // namespace
}  // namespace perfleet::session_ledger_test
