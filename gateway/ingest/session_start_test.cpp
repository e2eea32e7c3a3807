// Sessions of targets that don't know the time: when they began, where their rows are stored, and what of it lasts.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "gateway/admission/receipt.h"
#include "gateway/ingest/testing/ingest_fixture.h"
#include "schemas/vocabulary/clock_claim.h"

namespace perfleet::session_start_test {
namespace {

using sample::Reply;
using sample::ReplyType;

constexpr UtcNs kNow{kSampleUtcNs};
constexpr UtcNs kUnset{12 * kNsPerSecond};
constexpr Ticks kStart{40 * static_cast<std::uint64_t>(kNsPerSecond)};

Ticks after_start(std::int64_t ns) { return Ticks{kStart.value + static_cast<std::uint64_t>(ns)}; }

SessionRecord session_from(UtcNs start) {
    SessionRecord record = sample_session(TargetId{5}, SessionId{11, 12});
    record.start_point = {kStart, start, 7};
    return record;
}

TEST(Receipt, AStartThatNobodyClaimedIsTheReceiptLessTheTicksSince) {
    SessionRecord record = session_from(kUnset);
    take_receipt(record, after_start(5 * kNsPerSecond), kNow);
    EXPECT_EQ(record.start_point.ticks, kStart);
    EXPECT_EQ(record.start_point.utc_ns, UtcNs{kNow.value - 5 * kNsPerSecond});
    EXPECT_EQ(record.start_point.uncertainty_ns, static_cast<std::uint64_t>(kReceiptUncertaintyNs));
    EXPECT_EQ(record.received, kNow);
}

TEST(Receipt, AClockThatIsFarOffIsNoneAndOneThatIsNearCounts) {
    const std::int64_t odds_ns = kReceiptUncertaintyNs + 1;
    for (const std::int64_t off_ns : {-odds_ns, odds_ns, std::int64_t{86'400} * kNsPerSecond}) {
        SessionRecord record = session_from(UtcNs{kNow.value - kNsPerSecond + off_ns});
        take_receipt(record, after_start(kNsPerSecond), kNow);
        EXPECT_EQ(record.start_point.utc_ns, UtcNs{kNow.value - kNsPerSecond}) << off_ns;
    }
    for (const std::int64_t off_ns : {-kReceiptUncertaintyNs, std::int64_t{0}, kReceiptUncertaintyNs}) {
        SessionRecord record = session_from(UtcNs{kNow.value - kNsPerSecond + off_ns});
        const ClockPoint own = record.start_point;
        take_receipt(record, after_start(kNsPerSecond), kNow);
        EXPECT_EQ(record.start_point, own) << off_ns;
        EXPECT_EQ(record.received, kNow);
    }
}

// Its Hello may come days later.
TEST(Receipt, OfACollectorThatTellsNoClockWhatItClaimsCounts) {
    SessionRecord record = session_from(UtcNs{kNow.value - 86'400 * kNsPerSecond});
    const ClockPoint own = record.start_point;
    take_receipt(record, Ticks{0}, kNow);
    EXPECT_EQ(record.start_point, own);
    SessionRecord unset = session_from(kUnset);
    take_receipt(unset, Ticks{0}, kNow);
    EXPECT_EQ(unset.start_point.utc_ns, kNow);
}

TEST(Receipt, TicksThatCanNotBeAreNone) {
    for (const Ticks clock : {Ticks{~0ULL}, Ticks{1}}) {
        SessionRecord record = session_from(kUnset);
        take_receipt(record, clock, kNow);
        EXPECT_EQ(record.start_point.utc_ns, kNow) << clock.value;
    }
}

class SessionStart : public IngestFixture, public testing::Test {
protected:
    static constexpr BucketNumber kUnsetBucket = bucket_of(kUnset);

    void say_hello_at(Ticks clock, std::string_view peer = "peer") {
        take(peer, sample::hello_with(session_from(kUnset),
                                      [&](wire::Hello::Builder hello) { hello.setClockTicks(clock.value); }));
        EXPECT_EQ(reply(peer).type, ReplyType::kWelcome);
    }
    void send(std::uint64_t seq, BucketNumber bucket) {
        take("peer", sample::batch(sample_batch(kTarget, kSession, Seq{seq}, 2, bucket).build()));
    }
    [[nodiscard]] SessionRecord stored_session() const { return store_->all_sessions()->at(0); }
};

TEST_F(SessionStart, RowsOfBeforeTheTimeWasKnownLieInTheHourInWhichTheSessionBegan) {
    constexpr std::int64_t kTwoHoursNs = 7'200 * kNsPerSecond;
    say_hello_at(after_start(kTwoHoursNs));
    send(1, kUnsetBucket);
    send(2, kSampleBucket);
    commit();
    EXPECT_EQ(stored_session().start_point.utc_ns, UtcNs{kNow.value - kTwoHoursNs});
    EXPECT_EQ(stored_seqs(kUnsetBucket), std::vector<std::uint64_t>{});
    EXPECT_EQ(stored_seqs(BucketNumber{kSampleBucket.value - 2}), std::vector<std::uint64_t>{1});
    EXPECT_EQ(stored_seqs(kSampleBucket), std::vector<std::uint64_t>{2});
}

TEST_F(SessionStart, WhatIsSentAgainIsTheSameBatchAlsoToAGatewayThatStartsAnewHoursLater) {
    say_hello_at(after_start(3 * kNsPerSecond));
    send(1, kUnsetBucket);
    commit();
    EXPECT_EQ(reply().prefix, 1U);
    const SessionRecord before = stored_session();
    for (const bool is_restarted : {false, true}) {
        if (is_restarted) {
            now_.utc.value += 5 * 3'600 * kNsPerSecond;
            open();
        }
        replies("again");
        say_hello_at(after_start(4 * kNsPerSecond), "again");
        take("again", sample::batch(sample_batch(kTarget, kSession, Seq{1}, 2, kUnsetBucket).build()));
        take("again", sample::batch(sample_batch(kTarget, kSession, Seq{2}, 2, kUnsetBucket).build()));
        commit();
        EXPECT_EQ(ingest_->counts().batches_refused.total(), 0U);
        EXPECT_EQ(stored_session(), before);
    }
    EXPECT_EQ(stored_seqs(bucket_of(before.start_point.utc_ns)), (std::vector<std::uint64_t>{1, 2}));
}

TEST_F(SessionStart, WhatWasDamagedOnItsWayIsRefusedAllTheSame) {
    say_hello_at(after_start(kNsPerSecond));
    auto damaged = sample_batch(kTarget, kSession, Seq{1}, 2, kUnsetBucket).build();
    ++damaged.record.seal;
    take("peer", sample::batch(damaged));
    EXPECT_EQ(reply().type, ReplyType::kRefused);
    EXPECT_EQ(ingest_->counts().batches_refused.of(BatchRefusal::kSeal), 1U);
}

TEST_F(SessionStart, AnEndThatNobodyClaimedIsTheStartAndTheTicksSince) {
    say_hello_at(after_start(kNsPerSecond));
    take("peer", sample::bye(kSession, {Seq{0}, {}, {}, {after_start(8 * kNsPerSecond), kUnset, 0}}));
    commit();
    const auto end = store_->session_end(kTarget, kSession);
    ASSERT_TRUE(end->has_value());
    EXPECT_EQ((*end)->end_point.utc_ns, UtcNs{kNow.value + 7 * kNsPerSecond});
}

}  // namespace
}  // namespace perfleet::session_start_test
