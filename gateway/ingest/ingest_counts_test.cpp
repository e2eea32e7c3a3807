// Counters of ingest: losses, durations, commits.
#include <gtest/gtest.h>

#include <numeric>

#include "gateway/ingest/testing/ingest_fixture.h"
#include "schemas/wire/delivery_limits.h"

namespace perfleet::ingest_counts_test {
namespace {

constexpr Series kSamples{Kind::kSample, EventNumber{0}};
constexpr Series kTasks{Kind::kTask, kNoEvent};
constexpr Series kStacks{Kind::kStack, kNoEvent};

class IngestCountsTest : public testing::Test, protected IngestFixture {
protected:
    void send(std::uint64_t seq, std::uint64_t ring_full, std::uint64_t quota = 0) {
        SampleBatch batch = sample_batch(kTarget, kSession, Seq{seq});
        batch.entry(kSamples, CountName::kLostRingFull, ring_full);
        batch.entry(kSamples, CountName::kLate, 1'000);  // not a loss
        batch.entry(kTasks, CountName::kLostQuota, quota);
        batch.entry(kStacks, CountName::kLostRingFull, 50);  // definitions, not rows
        take("peer", sample::batch(batch.build()));
    }

    [[nodiscard]] std::uint64_t lost(CountName reason) const {
        return ingest_->counts().rows_lost.at(static_cast<std::size_t>(reason));
    }
    [[nodiscard]] std::uint64_t lost_in_all() const {
        const auto counts = ingest_->counts().rows_lost;
        return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    }
};

std::uint64_t count_of(const DurationHistogram& durations) {
    return std::accumulate(durations.in_bucket.begin(), durations.in_bucket.end(), std::uint64_t{0});
}

TEST_F(IngestCountsTest, CumulativeLossesAreCountedOnce) {
    say_hello();
    send(1, 10);
    send(2, 10);
    send(3, 25, 4);
    commit();
    EXPECT_EQ(lost(CountName::kLostRingFull), 25U);
    EXPECT_EQ(lost(CountName::kLostQuota), 4U);
    EXPECT_EQ(lost_in_all(), 29U);
    send(3, 25, 4);  // again
    send(4, 26, 4);
    commit();
    EXPECT_EQ(lost(CountName::kLostRingFull), 26U);
    EXPECT_EQ(lost_in_all(), 30U);
}

TEST_F(IngestCountsTest, LossesAreCountedInAnyOrderOfBatches) {
    say_hello();
    send(3, 25);
    commit();
    send(1, 10);
    send(2, 20);
    commit();
    EXPECT_EQ(lost(CountName::kLostRingFull), 25U);
}

TEST_F(IngestCountsTest, LossesToldToAGatewayBeforeAreNotCountedAgain) {
    say_hello();
    send(1, 10);
    commit();
    open();
    say_hello();
    EXPECT_EQ(lost_in_all(), 0U);
    send(2, 13);
    commit();
    EXPECT_EQ(lost(CountName::kLostRingFull), 3U);
}

TEST_F(IngestCountsTest, LossesOfTheEndAreCounted) {
    say_hello();
    send(1, 10);
    SessionEnd end;
    end.last_seq = Seq{1};
    end.counts = {{kSamples, CountName::kProduced, 20},
                  {kSamples, CountName::kLostRingFull, 10},
                  {kSamples, CountName::kLostUnflushed, 8}};
    take("peer", sample::bye(kSession, end));
    commit();
    EXPECT_EQ(lost(CountName::kLostRingFull), 10U);
    EXPECT_EQ(lost(CountName::kLostUnflushed), 8U);
}

TEST_F(IngestCountsTest, AnAcknowledgementIsMeasuredFromTheOldestBatchInIt) {
    say_hello();
    send(1, 0);
    pass(5'000'000);
    send(2, 0);
    commit();  // 20 ms after the second
    const auto first = ingest_->counts();
    EXPECT_EQ(count_of(first.acknowledged_after), 1U);
    EXPECT_EQ(first.acknowledged_after.sum_ns, 25'000'000U);
    EXPECT_EQ(count_of(first.commits_took), first.group_commits);
    send(2, 0);  // a duplicate waits for nothing
    commit();
    pass(limits::kAckIntervalNs);  // nor does a repeated acknowledgement count
    EXPECT_EQ(count_of(ingest_->counts().acknowledged_after), 1U);
    send(3, 0);
    commit();
    EXPECT_EQ(ingest_->counts().acknowledged_after.sum_ns, 45'000'000U);
}

TEST_F(IngestCountsTest, NobodyIsAcknowledgedWhoIsGone) {
    say_hello();
    send(1, 0);
    ingest_->forget_peer("peer");
    commit();
    EXPECT_EQ(ingest_->counts().batches_stored, 1U);
    EXPECT_EQ(count_of(ingest_->counts().acknowledged_after), 0U);
}

TEST_F(IngestCountsTest, AnAcknowledgementIsMeasuredFromTheBatchsArrival) {
    say_hello();
    const sample::Frame frame = sample::batch(sample_batch(kTarget, kSession, Seq{1}).build());
    ingest_->take("peer", frame, now_, {nullptr, now_.monotonic_ns - 7'000'000});
    commit();  // 20 ms later
    EXPECT_EQ(ingest_->counts().acknowledged_after.sum_ns, 27'000'000U);
}

}  // namespace
}  // namespace perfleet::ingest_counts_test
