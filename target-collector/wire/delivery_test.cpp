// Messages of a delivery to a gateway that answers right, wrong, and not at all. Both are in one process, so that one
// can read at once what the other has sent, and silence is certain.
#include "target-collector/wire/delivery.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "schemas/vocabulary/batch_limits.h"
#include "schemas/wire/delivery_limits.h"
#include "schemas/wire/protocol.h"
#include "target-collector/wire/testing/scripted_gateway.h"

namespace perfleet {
namespace {

using wire_layout::MessageTag;

class DeliveryTest : public ScriptedDelivery {
protected:
    void start(std::size_t spool_size_bytes = 1U << 20) {
        const std::string endpoint = "ipc://" + testing::TempDir() + "perfleet-delivery-" + std::to_string(::getpid());
        gateway_.bind(endpoint);
        connect(endpoint, spool_size_bytes);
    }
    // Both are sent, and wait for their acknowledgement.
    void start_with_two_batches() {
        start();
        seal();
        seal();
        welcome();
        expect_batch(1);
        expect_batch(2);
    }

    // Nothing more comes, even if the collector had more to do.
    void expect_silence() {
        while (delivery_->step(now_ns_)) {
        }
        const auto seen = gateway_.receive();
        EXPECT_FALSE(seen.has_value()) << "tag " << static_cast<int>(seen->tag) << " seq " << seen->seq.value;
    }
};

TEST_F(DeliveryTest, DeliversAndSaysGoodbye) {
    start();
    seal();
    seal();
    const SeenFrame hello = expect(MessageTag::kHello);
    EXPECT_EQ(hello.session, kSession);
    EXPECT_EQ(hello.target_name, "scripted");
    EXPECT_EQ(hello.oldest_retained, Seq{1});
    expect_silence();  // no batch before the Welcome
    gateway_.say(make_welcome({kSession, 5, Seq{0}, Seq{64}, kUtc}));
    const SeenFrame first = expect(MessageTag::kBatch);
    EXPECT_EQ(first.seq, Seq{1});
    EXPECT_EQ(first.oldest_retained, Seq{1});
    expect_batch(2);
    EXPECT_EQ(delivery_->status().gateway_utc, kUtc);
    EXPECT_GT(delivery_->status().spool_used_bytes, 0U);
    const ClockPoint end{Ticks{7}, UtcNs{8}, 9};
    ASSERT_TRUE(sealer_->finish(end));
    ack({{}, 5, Seq{1}});
    run_until_prefix(1);
    expect_silence();  // no Bye while a batch is under way
    ack({{}, 5, Seq{2}});
    const SeenFrame bye = expect(MessageTag::kBye);
    EXPECT_EQ(bye.session, kSession);
    EXPECT_EQ(bye.seq, Seq{2});
    EXPECT_EQ(bye.end_point, end);
    EXPECT_EQ(bye.entry(kSamples, CountName::kProduced), 2U);
    EXPECT_EQ(delivery_->status().spool_used_bytes, 0U);
    // Repeated each second until the gateway acknowledges it.
    expect_silence();
    now_ns_ += kSecond;
    expect(MessageTag::kBye);
    EXPECT_FALSE(delivery_->status().finished);
    ack({{}, 5, Seq{2}, Seq{64}, true});
    run_until([&] { return delivery_->status().finished; });
    now_ns_ += 10 * kSecond;
    expect_silence();
}

TEST_F(DeliveryTest, RepeatsHelloUntilItIsWelcome) {
    start();
    expect(MessageTag::kHello);
    expect_silence();
    now_ns_ += kSecond;
    expect(MessageTag::kHello);
    gateway_.say(make_welcome({kSession}));
    run_until([&] { return delivery_->status().welcomed; });
    now_ns_ += 5 * kSecond;
    expect_silence();
}

TEST_F(DeliveryTest, KeepsWithinItsCredit) {
    start();
    for (int i = 0; i < 5; ++i) {
        seal();
    }
    welcome({kSession, 1, Seq{0}, Seq{2}});
    expect_batch(1);
    expect_batch(2);
    expect_silence();
    ack({{}, 1, Seq{2}, Seq{2}});  // durable, but no more now
    run_until_prefix(2);
    expect_silence();
    ack({{}, 1, Seq{0}, Seq{4}});
    expect_batch(3);
    expect_batch(4);
    expect_silence();
    ack({{}, 1, Seq{4}, Seq{1}});  // credit never shrinks, but this gives none
    run_until_prefix(4);
    expect_silence();
}

TEST_F(DeliveryTest, SendsAgainWhatIsNotAcknowledged) {
    start();
    seal();
    seal();
    seal();
    welcome();
    for (std::uint64_t seq = 1; seq <= 3; ++seq) {
        expect_batch(seq);
    }
    ack({{}, 1, Seq{1}});
    run_until_prefix(1);
    now_ns_ += limits::kResendAfterNs - 1;
    expect_silence();
    now_ns_ += 1;
    const SeenFrame again = expect(MessageTag::kBatch);
    EXPECT_EQ(again.seq, Seq{2});
    EXPECT_EQ(again.oldest_retained, Seq{2});
    expect_batch(3);
    EXPECT_EQ(delivery_->status().batches_resent, 2U);
    expect_silence();
}

TEST_F(DeliveryTest, AtItsEndItWaitsNoLongerThanAtFirst) {
    start();
    seal();
    welcome();
    expect_batch(1);
    for (std::uint64_t timeout_ns = limits::kResendAfterNs, i = 0; i < 6; ++i) {
        now_ns_ += timeout_ns;
        expect_batch(1);
        timeout_ns = std::min(2 * timeout_ns, ResendTimeout::kBackoffMax * limits::kResendAfterNs);
    }
    ASSERT_TRUE(sealer_->finish({}));
    now_ns_ += limits::kResendAfterNs;
    expect_batch(1);
}

TEST_F(DeliveryTest, WaitsTwiceAsLongAfterEachRepetitionUpToALimit) {
    start();
    seal();
    welcome();
    expect_batch(1);
    std::uint64_t timeout_ns = limits::kResendAfterNs;
    for (int repetition = 0; repetition < 6; ++repetition) {
        now_ns_ += timeout_ns - 1;
        expect_silence();
        now_ns_ += 1;
        expect_batch(1);
        timeout_ns = std::min(2 * timeout_ns, ResendTimeout::kBackoffMax * limits::kResendAfterNs);
    }
    EXPECT_EQ(timeout_ns, ResendTimeout::kBackoffMax * limits::kResendAfterNs);
    gateway_.say(make_hello_again(2));
    expect(MessageTag::kHello);
    gateway_.say(make_welcome({kSession, 2}));
    expect_batch(1);
    now_ns_ += limits::kResendAfterNs;
    expect_batch(1);  // another gateway is not judged by the one before
}

TEST_F(DeliveryTest, GivesASlowGatewayTheTimeThatItTakes) {
    start();
    seal();
    welcome();
    expect_batch(1);
    now_ns_ += limits::kResendAfterNs;
    expect_batch(1);
    ack({{}, 1, Seq{1}});  // of which sending isn't known: nothing is learnt
    run_until_prefix(1);
    seal();
    expect_batch(2);
    now_ns_ += 2 * limits::kResendAfterNs - 1;
    expect_silence();
    ack({{}, 1, Seq{2}});
    run_until_prefix(2);
    seal();
    expect_batch(3);
    now_ns_ += 4 * limits::kResendAfterNs - 3;
    expect_silence();
    now_ns_ += 1;
    expect_batch(3);
    ack({{}, 1, Seq{3}});
    run_until_prefix(3);
    seal();
    expect_batch(4);
    ack({{}, 1, Seq{4}});  // at once
    run_until_prefix(4);
    seal();
    expect_batch(5);
    now_ns_ += limits::kResendAfterNs;
    expect_batch(5);
}

TEST_F(DeliveryTest, AnswersHelloAgainWithHelloAndSendsEverythingAgain) {
    start();
    seal();
    welcome();
    expect_batch(1);
    gateway_.say(make_hello_again(2));
    gateway_.say(make_hello_again(2));  // for each batch under way one comes
    expect(MessageTag::kHello);
    expect_silence();
    EXPECT_FALSE(delivery_->status().welcomed);
    gateway_.say(make_welcome({kSession, 2}));
    expect_batch(1);
}

TEST_F(DeliveryTest, ASecondWelcomeOfTheSameGatewayRepeatsNothing) {
    start();
    seal();
    welcome();
    expect_batch(1);
    gateway_.say(make_welcome({kSession}));
    expect_silence();
}

TEST_F(DeliveryTest, GivesAnEmptierGatewayAllThatIsLeft) {
    start();
    for (int i = 0; i < 4; ++i) {
        seal();
    }
    welcome();
    for (std::uint64_t seq = 1; seq <= 4; ++seq) {
        expect_batch(seq);
    }
    ack({{}, 1, Seq{2}});
    run_until_prefix(2);
    gateway_.say(make_hello_again(2));
    // Its credit ends before the remaining batches; the oldest one shows that nothing older will come.
    welcome({kSession, 2, Seq{0}, Seq{1}});
    const SeenFrame oldest = expect(MessageTag::kBatch);
    EXPECT_EQ(oldest.seq, Seq{3});
    EXPECT_EQ(oldest.oldest_retained, Seq{3});
    expect_silence();
    ack({{}, 2, Seq{3}, Seq{10}});
    expect_batch(4);
    EXPECT_EQ(delivery_->status().prefix, Seq{3});
}

TEST_F(DeliveryTest, CreditNeverShrinksWithinAnIncarnation) {
    start();
    for (int i = 0; i < 5; ++i) {
        seal();
    }
    welcome({kSession, 1, Seq{0}, Seq{3}});
    for (std::uint64_t seq = 1; seq <= 3; ++seq) {
        expect_batch(seq);
    }
    // The same gateway welcomes again, with a limit of before: what goes beyond it was promised.
    gateway_.say(make_hello_again(1));
    welcome({kSession, 1, Seq{0}, Seq{1}});
    for (std::uint64_t seq = 1; seq <= 3; ++seq) {
        expect_batch(seq);
    }
    ack({{}, 1, Seq{1}, Seq{2}});
    expect_silence();
    gateway_.say(make_hello_again(1));
    welcome({kSession, 1, Seq{1}, Seq{5}});
    for (std::uint64_t seq = 2; seq <= 5; ++seq) {
        expect_batch(seq);
    }
}

// A gateway that knows of drops skips them, and nothing that was never sent.
TEST_F(DeliveryTest, APrefixMayPassWhatWasDroppedUnsent) {
    start(2'000);  // a few batches
    for (int i = 0; i < 11; ++i) {
        seal();
        delivery_->step(now_ns_);
    }
    const std::uint64_t dropped = delivery_->status().batches_dropped;
    ASSERT_GT(dropped, 1U);
    welcome({kSession, 1, Seq{dropped}, Seq{dropped}});
    run_until_prefix(dropped);
    EXPECT_EQ(delivery_->status().replies_ignored, 0U);
}

TEST_F(DeliveryTest, IgnoresPromisesThatCannotBeTrue) {
    start();
    seal();
    seal();
    welcome({kSession, 1, Seq{0}, Seq{1}});
    expect_batch(1);
    gateway_.say(make_ack({kOtherSession, 1, Seq{1}}));  // another session's
    ack({{}, 9, Seq{1}});                                // another gateway's
    ack({{}, 1, Seq{2}, Seq{1}});                        // a batch that was never sent
    ack({{}, 1, Seq{~0ULL}, Seq{1}});
    ack({{}, 1, Seq{0}, Seq{1}, true});  // finished before the Bye
    gateway_.say(make_refused(kOtherSession, Seq{1}, 1, ""));
    gateway_.say(make_refused(kSession, Seq{2}, 1, ""));
    gateway_.say(make_control({kSession, 2, EventNumber{0}}));
    gateway_.say(Frame(16, std::byte{0xff}));
    run_until([&] { return delivery_->status().replies_ignored >= 7; });
    EXPECT_EQ(delivery_->status().prefix, Seq{0});
    EXPECT_EQ(delivery_->status().batches_refused, 0U);
    EXPECT_FALSE(delivery_->status().finished);
    ack({{}, 1, Seq{1}, Seq{2}});
    expect_batch(2);
}

// This delivery supports no control requests: the gateway learns it at once, and again whenever it asks.
TEST_F(DeliveryTest, AnswersAnOrderOverTheConnectionAndAgainAfterANewOne) {
    start();
    welcome({kSession, 4});
    gateway_.say(make_control({kOtherSession, 2, kNoEvent, 0, 9, 4}));  // not ours
    gateway_.say(make_control({kSession, 2, kNoEvent, 0, 9, 3}));       // another gateway's
    gateway_.say(make_control({kSession, 2, kNoEvent, 0, 9, 4}));
    for (int i = 0; i < 2; ++i) {
        const SeenFrame answer = expect(MessageTag::kControlled);
        EXPECT_EQ(answer.session, kSession);
        EXPECT_EQ(answer.number, 9U);
        EXPECT_EQ(answer.outcome, static_cast<std::uint16_t>(protocol::ControlOutcome::kUnsupported));
        expect_silence();
        if (i == 0) {
            gateway_.say(make_hello_again(4));
            welcome({kSession, 4});
            expect_silence();
            gateway_.say(make_control({kSession, 2, kNoEvent, 0, 9, 4}));
        }
    }
    EXPECT_EQ(delivery_->status().replies_ignored, 2U);
}

TEST_F(DeliveryTest, AFullSpoolDropsTheOldestAndSaysSo) {
    start(2'000);  // a few batches
    EXPECT_EQ(expect(MessageTag::kHello).oldest_retained, Seq{1});
    seal(kStacks);
    for (int i = 0; i < 10; ++i) {
        seal();
        delivery_->step(now_ns_);
    }
    sealer_->tick(Ticks{100}, kUtc);
    const auto dropped = delivery_->status().batches_dropped;
    EXPECT_GT(dropped, 2U);
    EXPECT_LT(dropped, 11U);
    EXPECT_TRUE(sealer_->epoch_is_over());  // its stack is gone
    seal();                                 // names what was dropped until now
    delivery_->step(now_ns_);
    const auto dropped_in_all = delivery_->status().batches_dropped;

    // The next Hello says what is left.
    now_ns_ += kSecond;
    EXPECT_EQ(expect(MessageTag::kHello).oldest_retained, Seq{dropped_in_all + 1});
    gateway_.say(make_welcome({kSession, 1, Seq{0}, Seq{2}}));
    EXPECT_EQ(expect(MessageTag::kBatch).seq, Seq{dropped_in_all + 1});
    ack({{}, 1, Seq{dropped_in_all + 1}, Seq{64}});
    SeenFrame last;
    while (last.seq != Seq{12}) {
        last = expect(MessageTag::kBatch);
    }
    EXPECT_EQ(last.dropped, (std::vector<SeqRange>{{Seq{1}, Seq{dropped}}}));
    EXPECT_EQ(last.entry(kSamples, CountName::kLostSpoolFull), dropped - 1);
    EXPECT_EQ(last.entry(kStacks, CountName::kLostSpoolFull), 1U);
    EXPECT_EQ(last.entry(kSamples, CountName::kProduced), 11U);

    // What an acknowledged batch has named is not named again.
    ack({{}, 1, Seq{12}, Seq{64}});
    run_until_prefix(12);
    sealer_->tick(Ticks{101}, kUtc);
    seal();
    const SeenFrame after = expect(MessageTag::kBatch);
    EXPECT_EQ(after.dropped.empty(), dropped_in_all == dropped);
    EXPECT_EQ(after.entry(kSamples, CountName::kLostSpoolFull), dropped_in_all - 1);

    ASSERT_TRUE(sealer_->finish({}));
    ack({{}, 1, Seq{13}, Seq{64}});
    const SeenFrame bye = expect(MessageTag::kBye);
    EXPECT_EQ(bye.entry(kSamples, CountName::kLostSpoolFull), dropped_in_all - 1);
    EXPECT_EQ(bye.entry(kSamples, CountName::kProduced), 12U);
    EXPECT_TRUE(bye.dropped.empty());
}

TEST_F(DeliveryTest, ABatchTooLargeForTheSpoolIsDroppedAlone) {
    start(2'000);
    seal();
    std::mt19937_64 random(1);
    for (std::uint64_t i = 0; i < 500; ++i) {
        const std::uint64_t row[] = {0, i, i, i, i};
        sealer_->append({kSamples, Ticks{random()}, row});
    }
    sealer_->flush(Ticks{1});
    seal();
    welcome();
    expect_batch(1);
    expect_batch(3);
    EXPECT_EQ(delivery_->status().batches_dropped, 1U);
    ASSERT_TRUE(sealer_->finish({}));
    ack({{}, 1, Seq{1}});
    ack({{}, 1, Seq{3}});
    const SeenFrame bye = expect(MessageTag::kBye);
    EXPECT_EQ(bye.dropped, (std::vector<SeqRange>{{Seq{2}, Seq{2}}}));
    EXPECT_EQ(bye.entry(kSamples, CountName::kLostSpoolFull), 500U);
}

TEST_F(DeliveryTest, CountsARefusedBatchAndGoesOn) {
    start();
    seal();
    seal(kStacks);
    seal();
    welcome();
    for (std::uint64_t seq = 1; seq <= 3; ++seq) {
        expect_batch(seq);
    }
    gateway_.say(make_refused(kSession, Seq{2}, 1, "malformed"));
    gateway_.say(make_refused(kSession, Seq{2}, 1, "malformed"));
    run_until([&] { return delivery_->status().batches_refused == 1; });
    sealer_->tick(Ticks{9}, kUtc);
    EXPECT_TRUE(sealer_->epoch_is_over());
    now_ns_ += limits::kResendAfterNs;
    expect_batch(1);
    expect_batch(3);  // not 2
    seal();
    const SeenFrame next_batch = expect(MessageTag::kBatch);
    EXPECT_EQ(next_batch.entry(kStacks, CountName::kLostRefused), 1U);
    EXPECT_TRUE(next_batch.dropped.empty());
    ASSERT_TRUE(sealer_->finish({}));
    ack({{}, 1, Seq{4}});
    const SeenFrame bye = expect(MessageTag::kBye);
    EXPECT_EQ(bye.entry(kStacks, CountName::kLostRefused), 1U);
    EXPECT_EQ(bye.entry(kStacks, CountName::kProduced), 1U);
    EXPECT_EQ(bye.entry(kSamples, CountName::kProduced), 3U);
}

TEST_F(DeliveryTest, TellsAtOnceThatNothingIsLeftBeforeTheOldest) {
    start();
    for (int i = 0; i < 5; ++i) {
        seal();
    }
    welcome();
    for (std::uint64_t seq = 1; seq <= 5; ++seq) {
        expect_batch(seq);
    }
    gateway_.say(make_refused(kSession, Seq{1}, 1, "malformed"));
    const SeenFrame batch = expect(MessageTag::kBatch);
    EXPECT_EQ(batch.seq, Seq{2});
    EXPECT_EQ(batch.oldest_retained, Seq{2});
    expect_silence();  // once
    gateway_.say(make_refused(kSession, Seq{4}, 1, "malformed"));
    expect_silence();  // there are older ones
    ack({{}, 1, Seq{3}});
    const SeenFrame last = expect(MessageTag::kBatch);
    EXPECT_EQ(last.seq, Seq{5});
    EXPECT_EQ(last.oldest_retained, Seq{5});
    seal();
    expect_batch(6);
    ack({{}, 1, Seq{5}});
    run_until_prefix(5);
    expect_silence();
}

TEST_F(DeliveryTest, ARefusedSessionFallsSilent) {
    start();
    seal();
    expect(MessageTag::kHello);
    gateway_.say(
        make_refused(kSession, Seq{0}, static_cast<std::uint16_t>(protocol::RefusedReason::kIdentity), "who?"));
    run_until([&] { return delivery_->status().session_refused; });
    EXPECT_EQ(delivery_->status().refused_reason, static_cast<std::uint16_t>(protocol::RefusedReason::kIdentity));
    seal();
    now_ns_ += 10 * kSecond;
    expect_silence();
    EXPECT_EQ(delivery_->status().last_sealed, Seq{2});  // the ring is drained all the same
}

TEST_F(DeliveryTest, WhatIsLeftOfARefusedSessionIsCountedAsRefused) {
    start();
    seal();
    seal();
    expect(MessageTag::kHello);
    gateway_.say(
        make_refused(kSession, Seq{0}, static_cast<std::uint16_t>(protocol::RefusedReason::kIdentity), "who?"));
    run_until([&] { return delivery_->status().session_refused; });
    ASSERT_TRUE(sealer_->finish({}));
    expect_silence();
    EXPECT_EQ(delivery_->status().batches_dropped, 2U);
    EXPECT_EQ(delivery_->status().batches_kept, 0U);
    EXPECT_EQ(delivery_->status().rows_given_up, 0U);
}

TEST_F(DeliveryTest, ASessionThatIsOneTooManyForNowAsksAgainEachMinute) {
    const auto defer = [&] {
        gateway_.say(
            make_refused(kSession, Seq{0}, static_cast<std::uint16_t>(protocol::RefusedReason::kQuota), "later"));
        run_until([&] { return delivery_->status().is_deferred; });
    };
    start();
    seal();
    for (int i = 0; i < 3; ++i) {
        expect(MessageTag::kHello);
        defer();
        EXPECT_FALSE(delivery_->status().session_refused);
        now_ns_ += limits::kRetryDeferredNs - kSecond;
        expect_silence();
        now_ns_ += kSecond;
    }
    expect(MessageTag::kHello);
    gateway_.say(make_welcome({kSession}));
    expect(MessageTag::kBatch);
    EXPECT_FALSE(delivery_->status().is_deferred);
    EXPECT_EQ(delivery_->status().batches_dropped, 0U);
}

// Of a gateway whose clock is hours behind, which it reports when it sees a batch.
TEST_F(DeliveryTest, AWelcomedSessionThatIsDeferredSendsEverythingAgain) {
    start_with_two_batches();
    gateway_.say(make_refused(kSession, Seq{0}, static_cast<std::uint16_t>(protocol::RefusedReason::kAhead), "later"));
    run_until([&] { return delivery_->status().is_deferred; });
    EXPECT_FALSE(delivery_->status().session_refused);
    seal();
    now_ns_ += limits::kRetryDeferredNs - kSecond;
    expect_silence();
    now_ns_ += kSecond;
    welcome();
    for (std::uint64_t seq = 1; seq <= 3; ++seq) {
        expect_batch(seq);
    }
    EXPECT_EQ(delivery_->status().batches_refused, 0U);
}

TEST_F(DeliveryTest, RefusesAVersionThatItDoesNotSpeak) {
    start();
    expect(MessageTag::kHello);
    gateway_.say(of_version(protocol::kVersion + 1, make_welcome({kSession})));
    run_until([&] { return delivery_->status().session_refused; });
    EXPECT_FALSE(delivery_->status().welcomed);
    EXPECT_EQ(delivery_->status().refused_reason, static_cast<std::uint16_t>(protocol::RefusedReason::kOtherVersion));
}

TEST_F(DeliveryTest, GivingUpDropsWhatIsLeftAndSaysGoodbye) {
    start_with_two_batches();
    ASSERT_TRUE(sealer_->finish({}));
    expect_silence();
    delivery_->give_up();
    EXPECT_TRUE(delivery_->step(now_ns_)) << "it isn't idle";
    const SeenFrame bye = expect(MessageTag::kBye);
    EXPECT_EQ(bye.dropped, (std::vector<SeqRange>{{Seq{1}, Seq{2}}}));
    EXPECT_EQ(bye.entry(kSamples, CountName::kLostSpoolFull), 2U);
    EXPECT_EQ(delivery_->status().rows_given_up, 2U);
    ack({{}, 1, Seq{2}, Seq{64}, true});
    run_until([&] { return delivery_->status().finished; });
}

TEST_F(DeliveryTest, SaysGoodbyeToTheNextGatewayAtOnce) {
    start();
    welcome();
    ASSERT_TRUE(sealer_->finish({}));
    expect(MessageTag::kBye);
    gateway_.say(make_hello_again(2));
    welcome({kSession, 2});
    expect(MessageTag::kBye);
}

TEST_F(DeliveryTest, SendsImagesInChunksAsAsked) {
    std::string content(limits::kImageChunkSizeBytes + 1'000, 'k');
    for (std::size_t i = 0; i < content.size(); ++i) {
        content[i] = static_cast<char>(i * 7);
    }
    const std::string build_id = "0123456789abcdefghij";
    images_.push_back({std::as_bytes(std::span{build_id}), 1, std::as_bytes(std::span{content})});
    start(4U << 20);
    seal();
    welcome();
    expect_batch(1);
    gateway_.say(make_need_image("another", 0));
    gateway_.say(make_need_image(build_id, content.size()));
    gateway_.say(make_need_image(build_id, 0));
    SeenFrame chunk = expect(MessageTag::kImage);
    EXPECT_EQ(chunk.session, kSession);
    EXPECT_EQ(chunk.build_id, build_id);
    EXPECT_EQ(chunk.type, 1);
    EXPECT_EQ(chunk.size_bytes, content.size());
    EXPECT_EQ(chunk.offset_bytes, 0U);
    EXPECT_EQ(chunk.content.size(), limits::kImageChunkSizeBytes);
    EXPECT_EQ(chunk.content, content.substr(0, chunk.content.size()));
    // The Bye waits for the rest of the image.
    ASSERT_TRUE(sealer_->finish({}));
    ack({{}, 1, Seq{1}});
    expect_silence();
    gateway_.say(make_need_image(build_id, chunk.content.size()));
    const std::size_t rest = chunk.content.size();
    chunk = expect(MessageTag::kImage);
    EXPECT_EQ(chunk.offset_bytes, rest);
    EXPECT_EQ(chunk.content, content.substr(rest));
    expect(MessageTag::kBye);
}

// Two rounds of images that come up later.
class TwoRounds final : public LateImages {
public:
    std::span<const ImageSupply> next() override {
        ++asked;
        return asked <= rounds.size() ? std::span<const ImageSupply>{rounds[asked - 1]}
                                      : std::span<const ImageSupply>{};
    }
    std::array<std::vector<ImageSupply>, 2> rounds;
    std::size_t asked = 0;
};

TEST_F(DeliveryTest, OffersLateImagesAndWaitsWithTheByeForThem) {
    const std::string content(1'000, 'k');
    const std::array<std::string, 3> ids{"one", "two", "three"};
    const auto supply = [&](const std::string& id) {
        return ImageSupply{std::as_bytes(std::span{id}), 3, std::as_bytes(std::span{content})};
    };
    TwoRounds late;
    late.rounds = {{{supply(ids[0]), supply(ids[1])}, {supply(ids[2])}}};
    late_images_ = &late;
    start(4U << 20);
    welcome();
    EXPECT_EQ(expect(MessageTag::kImageOffers).offered, (std::vector<std::string>{"one", "two"}));
    gateway_.say(make_need_image("two", 0));
    EXPECT_EQ(expect(MessageTag::kImage).build_id, "two");
    ASSERT_TRUE(sealer_->finish({}));
    expect_silence();
    // Another gateway is offered them again.
    gateway_.say(make_hello_again(2));
    welcome({kSession, 2});
    EXPECT_EQ(expect(MessageTag::kImageOffers).offered, (std::vector<std::string>{"one", "two"}));
    gateway_.say(make_need_image("", 0));
    EXPECT_EQ(expect(MessageTag::kImageOffers).offered, std::vector<std::string>{"three"});
    gateway_.say(make_need_image("", 0));
    expect(MessageTag::kBye);
}

// Images of which only the wanted ones are read.
class ReadWhenWanted final : public LateImages {
public:
    std::span<const ImageSupply> next() override {
        return std::exchange(is_first, false) ? std::span<const ImageSupply>{supplies} : std::span<const ImageSupply>{};
    }
    Content content(std::size_t index) override {
        wanted.push_back(index);
        return contents.at(index);
    }
    std::vector<ImageSupply> supplies;
    std::vector<Content> contents;
    std::vector<std::size_t> wanted;
    bool is_first = true;
};

TEST_F(DeliveryTest, ReadsALateImageWhenTheGatewayWantsItAndSaysWhereThereIsNothing) {
    const std::string bytes(1'000, 'k');
    const std::array<std::string, 3> ids{"one", "two", "three"};
    ReadWhenWanted late;
    for (const std::string& id : ids) {
        late.supplies.push_back({std::as_bytes(std::span{id}), 3, {}});
    }
    late.contents = {{}, {false, {}}, {true, {}}};
    late_images_ = &late;
    start(4U << 20);
    welcome();
    EXPECT_EQ(expect(MessageTag::kImageOffers).offered, (std::vector<std::string>{"one", "two", "three"}));
    expect_silence();
    EXPECT_TRUE(late.wanted.empty());
    gateway_.say(make_need_image("two", 0));
    run_until([&] { return !late.wanted.empty(); });
    expect_silence();
    // The Bye waits while it is read.
    ASSERT_TRUE(sealer_->finish({}));
    now_ns_ += 3 * kSecond;
    expect_silence();
    late.contents[1] = {true, std::as_bytes(std::span{bytes})};
    const auto chunk = expect(MessageTag::kImage);
    EXPECT_EQ(chunk.build_id, "two");
    EXPECT_EQ(chunk.content, bytes);
    gateway_.say(make_need_image("three", 0));
    const auto none = expect(MessageTag::kImage);
    EXPECT_EQ(none.build_id, "three");
    EXPECT_TRUE(none.content.empty());
    EXPECT_EQ(std::count(late.wanted.begin(), late.wanted.end(), 0U), 0) << "nobody wanted it";
    gateway_.say(make_need_image("", 0));
    expect(MessageTag::kBye);
}

TEST_F(DeliveryTest, SaysByeWithoutImagesThatTakeTooLong) {
    const std::string id = "slow";
    ReadWhenWanted late;
    late.supplies.push_back({std::as_bytes(std::span{id}), 3, {}});
    late.contents = {{false, {}}};
    late_images_ = &late;
    start(4U << 20);
    welcome();
    expect(MessageTag::kImageOffers);
    ASSERT_TRUE(sealer_->finish({}));
    gateway_.say(make_need_image(id, 0));
    run_until([&] { return !late.wanted.empty(); });
    for (int second = 0; second < 4; ++second) {
        expect_silence();
        now_ns_ += kSecond;
    }
    expect_silence();
    now_ns_ += 2 * kSecond;
    expect(MessageTag::kBye);
}

TEST_F(DeliveryTest, SendsNoMoreOfImagesASecondThanItMay) {
    const std::string content(4 * limits::kImageChunkSizeBytes, 'k');
    const std::string build_id = "id";
    images_.push_back({std::as_bytes(std::span{build_id}), 1, std::as_bytes(std::span{content})});
    image_bytes_per_second_ = limits::kImageChunkSizeBytes;
    start(4U << 20);
    welcome();
    for (std::size_t i = 0; i < 4; ++i) {
        gateway_.say(make_need_image(build_id, i * limits::kImageChunkSizeBytes));
        if (i > 0) {
            for (int round = 0; round < 20; ++round) {
                driver_->wait(-1, 2'000'000);
                expect_silence();
            }
            now_ns_ += kSecond;
        }
        EXPECT_EQ(expect(MessageTag::kImage).offset_bytes, i * limits::kImageChunkSizeBytes);
    }
}

TEST_F(DeliveryTest, TheByeDoesNotWaitForeverForAGatewayThatSaysNothingOfLateImages) {
    const std::string content(1'000, 'k');
    const std::string id = "one";
    TwoRounds late;
    late.rounds[0].push_back({std::as_bytes(std::span{id}), 3, std::as_bytes(std::span{content})});
    late_images_ = &late;
    start(4U << 20);
    welcome();
    expect(MessageTag::kImageOffers);
    now_ns_ += 5 * kSecond;
    expect(MessageTag::kImageOffers);
    ASSERT_TRUE(sealer_->finish({}));
    expect_silence();
    now_ns_ += 5 * kSecond;
    expect(MessageTag::kBye);
    EXPECT_EQ(late.asked, 1U) << "they were not taken";
}

TEST_F(DeliveryTest, TheByeDoesNotWaitForeverForAnImage) {
    const std::string content(2'000'000, 'k');
    const std::string build_id = "id";
    images_.push_back({std::as_bytes(std::span{build_id}), 1, std::as_bytes(std::span{content})});
    start(4U << 20);
    welcome();
    gateway_.say(make_need_image(build_id, 0));
    expect(MessageTag::kImage);
    ASSERT_TRUE(sealer_->finish({}));
    expect_silence();
    now_ns_ += 5 * kSecond;
    expect(MessageTag::kBye);
}

}  // namespace
}  // namespace perfleet
