// Batches of hours to come: one of the two clocks is wrong, and it is unknown which.
#include <gtest/gtest.h>

#include "gateway/admission/intake_limits.h"
#include "gateway/admission/testing/sample_messages.h"
#include "gateway/ingest/testing/ingest_fixture.h"
#include "schemas/wire/delivery_limits.h"
#include "schemas/wire/protocol.h"

namespace perfleet::batch_ahead_test {
namespace {

using sample::Reply;
using sample::ReplyType;

// A batch of the hour to come that is one too far.
class IngestAhead : public testing::Test, protected IngestFixture {
protected:
    static constexpr BucketNumber kAhead{kSampleBucket.value + intake_limits::kBucketsAheadMax + 1};

    void send_ahead(std::uint64_t seq) {
        take("peer", sample::batch(sample_batch(kTarget, kSession, Seq{seq}, 1, kAhead).build()));
    }
};

TEST_F(IngestAhead, TakesWhatIsALittleAhead) {
    constexpr BucketNumber kNear{kAhead.value - 1};
    say_hello();
    take("peer", sample::batch(sample_batch(kTarget, kSession, Seq{1}, 1, kNear).build()));
    commit();
    EXPECT_EQ(replies().back().prefix, 1U);
    EXPECT_EQ(stored_seqs(kNear), std::vector<std::uint64_t>{1});
}

TEST_F(IngestAhead, PutsTheSessionOffOnceForEachHello) {
    for (std::uint64_t i = 1; i <= 3; ++i) {
        say_hello();
        EXPECT_EQ(reply().type, ReplyType::kWelcome);
        send_ahead(1);
        const Reply defer = reply();
        EXPECT_EQ(defer.type, ReplyType::kRefused);
        EXPECT_EQ(defer.seq, 0U);
        EXPECT_EQ(defer.reason, static_cast<std::uint16_t>(protocol::RefusedReason::kAhead));
        send_ahead(2);
        EXPECT_TRUE(replies().empty());
        EXPECT_EQ(ingest_->counts().batches_ignored.of(BatchIgnored::kAhead), 2 * i);
    }
    EXPECT_EQ(ingest_->counts().batches_refused.total(), 0U);
    EXPECT_EQ(logged_.size(), 3U);
    EXPECT_NE(logged_[0].find("of 3 hours in the future"), std::string::npos) << logged_[0];
}

TEST_F(IngestAhead, TakesItOnceTheClockIsSet) {
    say_hello();
    send_ahead(1);
    now_.utc.value += 2 * kBucketDurationS * kNsPerSecond;
    (void)replies();
    say_hello();
    send_ahead(1);
    commit();
    EXPECT_EQ(replies().back().prefix, 1U);
    EXPECT_EQ(stored_seqs(kAhead), std::vector<std::uint64_t>{1});
}

// A session that was ahead once and long ago isn't refused for the next time.
TEST_F(IngestAhead, TheTimeoutBeginsAnewAfterAWhileWithoutOne) {
    Ingest::Options options;
    options.clock_timeout_ns = 2 * intake_limits::kAheadForgottenNs;
    for (const std::uint64_t pause_ns : {intake_limits::kAheadForgottenNs - 1, intake_limits::kAheadForgottenNs}) {
        open(nullptr, options);
        say_hello();
        for (std::uint64_t past_ns = 0; past_ns < options.clock_timeout_ns; past_ns += pause_ns) {
            send_ahead(1);
            now_.monotonic_ns += pause_ns;
            now_.utc.value = kSampleUtcNs;
        }
        send_ahead(1);
        EXPECT_EQ(ingest_->counts().batches_refused.total(), pause_ns < intake_limits::kAheadForgottenNs ? 1U : 0U);
    }
}

TEST_F(IngestAhead, WhatStaysAheadIsRefusedAndTheRestGoesOn) {
    constexpr std::uint64_t kMinuteNs = limits::kRetryDeferredNs;
    for (std::uint64_t passed_ns = 0; passed_ns < intake_limits::kClockTimeoutNs; passed_ns += kMinuteNs) {
        say_hello();
        send_ahead(1);
        EXPECT_EQ(ingest_->counts().batches_refused.total(), 0U);
        now_.monotonic_ns += kMinuteNs;  // while the clock stands
        pass(0);
    }
    say_hello();
    (void)replies();
    send_ahead(1);
    const Reply refused = reply();
    EXPECT_EQ(refused.type, ReplyType::kRefused);
    EXPECT_EQ(refused.seq, 1U);
    EXPECT_EQ(ingest_->counts().batches_refused.of(BatchRefusal::kFuture), 1U);
    send_batch(2);
    commit();
    EXPECT_EQ(stored_seqs(), std::vector<std::uint64_t>{2});
    // A while after the last of them it may be the gateway's clock again.
    now_.monotonic_ns += intake_limits::kAheadForgottenNs;
    (void)replies();
    send_ahead(3);
    EXPECT_EQ(reply().seq, 0U);
}

TEST_F(IngestAhead, ATimeoutShorterThanAMinuteIsKept) {
    Ingest::Options options;
    options.clock_timeout_ns = limits::kRetryDeferredNs / 2;
    open(nullptr, options);
    for (std::uint64_t refused = 0; refused < 2; ++refused) {
        say_hello();
        send_ahead(1);
        EXPECT_EQ(ingest_->counts().batches_refused.of(BatchRefusal::kFuture), refused);
        now_.monotonic_ns += limits::kRetryDeferredNs;
    }
}

}  // namespace
}  // namespace perfleet::batch_ahead_test
