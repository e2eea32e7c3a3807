// A crowd over one gateway with a small memory: its memory stays within bounds, peers that keep the rules all get
// through, and a peer that doesn't harms only itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "gateway/admission/testing/sample_changes.h"
#include "gateway/ingest/reply.h"
#include "gateway/ingest/testing/ingest_fixture.h"
#include "schemas/wire/delivery_limits.h"
#include "schemas/wire/protocol.h"

namespace perfleet::fairness_test {
namespace {

using sample::Reply;
using sample::ReplyType;

// A collector that keeps the rules: sends in order within its credit, and sends again what isn't acknowledged after a
// reset.
struct Honest {
    std::uint64_t number = 0;
    std::uint64_t batch_count = 0;
    std::uint64_t sent = 0;
    std::uint64_t prefix = 0;
    std::uint64_t send_limit = 0;

    [[nodiscard]] std::string name() const { return "honest " + std::to_string(number); }
    [[nodiscard]] TargetId target() const { return TargetId{100 + number}; }
    [[nodiscard]] SessionId session() const { return {77, number}; }
    [[nodiscard]] bool is_done() const { return prefix == batch_count; }
};

class FairnessTest : public testing::Test, protected IngestFixture {
protected:
    void open_small() {
        Ingest::Options options;
        options.memory.size_bytes = MemoryPlan::kSizeBytesMin;
        open(nullptr, options);
    }

    void greet(Honest& peer) {
        take(peer.name(), sample::hello(sample_session(peer.target(), peer.session())));
        hear(peer);
    }

    void hear(Honest& peer) {
        for (const Reply& said : replies(peer.name())) {
            ASSERT_TRUE(said.type == ReplyType::kWelcome || said.type == ReplyType::kAck)
                << static_cast<int>(said.type) << said.text;
            peer.prefix = std::max(peer.prefix, said.prefix);
            peer.send_limit = std::max(peer.send_limit, said.send_limit);
        }
    }

    // Sends one batch if it may.
    void send_one(Honest& peer, std::uint64_t row_count) {
        if (peer.sent < peer.batch_count && peer.sent < peer.send_limit) {
            ++peer.sent;
            take(peer.name(),
                 sample::batch(sample_batch(peer.target(), peer.session(), Seq{peer.sent}, row_count).build()));
        }
    }

    void expect_within_bounds() {
        const GatewayCounts counts = ingest_->counts();
        ASSERT_LE(counts.credit_bytes_now, counts.credit_bytes_max);
        ASSERT_LE(counts.memory_bytes_now, counts.memory_bytes_max / 2);
    }
};

TEST_F(FairnessTest, AFlooderLosesAloneAndTheOthersComeThrough) {
    open_small();
    std::vector<Honest> crowd;
    for (std::uint64_t number = 0; number < 20; ++number) {
        crowd.push_back({number, 40});
        greet(crowd.back());
    }
    const TargetId flooder{5};
    const SessionId flood{66, 6};
    take("flooder", sample::hello(sample_session(flooder, flood)));
    std::uint64_t flooded = 0;
    for (int turn = 0; turn < 60; ++turn) {
        for (int i = 0; i < 20; ++i) {
            take("flooder", sample::batch(sample_batch(flooder, flood, Seq{++flooded}).build()));
        }
        for (Honest& peer : crowd) {
            send_one(peer, 2);
        }
        expect_within_bounds();
        commit();
        for (Honest& peer : crowd) {
            hear(peer);
        }
    }
    for (const Honest& peer : crowd) {
        EXPECT_TRUE(peer.is_done()) << peer.name() << " came to " << peer.prefix;
        EXPECT_EQ(store_->watermark(peer.target(), peer.session()).value(), Seq{40});
    }
    const GatewayCounts counts = ingest_->counts();
    EXPECT_GT(counts.batches_ignored.of(BatchIgnored::kBeyondCredit), 0U);
    EXPECT_EQ(counts.batches_stored + counts.batches_ignored.total(), flooded + 20U * 40);
    // It went on until it was cut off; from then on nobody knows it.
    EXPECT_GE(counts.peers_cut.of(PeerCut::kCredit), 1U);
    EXPECT_GT(counts.batches_ignored.of(BatchIgnored::kNoSession), 0U);
    for (const std::string& name : link_.cut_off) {
        EXPECT_EQ(name, "flooder");
    }
}

TEST_F(FairnessTest, ManyWithLargeBatchesTakeTurnsAndAllComeThrough) {
    open_small();
    // So many that the budget holds a batch for some of them only.
    constexpr std::uint64_t kRowCount = 8'000;
    std::vector<Honest> crowd;
    for (std::uint64_t number = 0; number < 600; ++number) {
        crowd.push_back({number, 3});
        greet(crowd.back());
    }
    EXPECT_TRUE(std::any_of(crowd.begin(), crowd.end(), [](const Honest& peer) { return peer.send_limit == 0; }));
    for (int turn = 0; turn < 200; ++turn) {
        bool all_done = true;
        for (Honest& peer : crowd) {
            send_one(peer, kRowCount);
            all_done = all_done && peer.is_done();
            if (ingest_->is_group_full()) {
                pass(0);
            }
        }
        commit();
        expect_within_bounds();
        for (Honest& peer : crowd) {
            hear(peer);
        }
        if (all_done) {
            break;
        }
    }
    for (const Honest& peer : crowd) {
        ASSERT_TRUE(peer.is_done()) << peer.name() << " came to " << peer.prefix;
    }
    EXPECT_EQ(ingest_->counts().batches_stored, 3U * 600);
    EXPECT_EQ(ingest_->counts().batches_ignored.total(), 0U);
}

TEST_F(FairnessTest, WhoNeverUsesItsCreditKeepsNobodyWaiting) {
    open_small();
    const std::uint64_t room = ingest_->counts().credit_bytes_max / intake_limits::kBatchSizeBytesGuess;
    std::vector<Honest> idle;
    for (std::uint64_t number = 0; number < room + 100; ++number) {
        idle.push_back({number, 1});
        greet(idle.back());
    }
    Honest& last = idle.back();
    EXPECT_EQ(last.send_limit, 0U);
    // Those with the first credit, and those with credit after them.
    for (std::uint64_t ns = 0; ns <= 3 * intake_limits::kCreditHoldNs; ns += limits::kAckIntervalNs) {
        pass(limits::kAckIntervalNs);
        expect_within_bounds();
    }
    hear(last);
    EXPECT_EQ(last.send_limit, 1U);
    send_one(last, 2);
    commit();
    hear(last);
    EXPECT_TRUE(last.is_done());
}

TEST_F(FairnessTest, TheOldestThatIsLeftMayGoBeyondTheCreditOneAtATime) {
    open_small();
    say_hello();
    replies();
    const auto with_oldest = [](std::uint64_t seq) {
        return sample::batch_with(sample_batch(kTarget, kSession, Seq{seq}).build(),
                                  [&](wire::Batch::Builder batch) { batch.setOldestRetainedSeq(seq); });
    };
    take("peer", with_oldest(1'000));
    take("peer", with_oldest(2'000));
    EXPECT_EQ(ingest_->counts().batches_ignored.of(BatchIgnored::kBeyondCredit), 1U);
    commit();
    EXPECT_EQ(replies().back().prefix, 1'000U) << "nothing is taken of one that isn't admitted";
    take("peer", with_oldest(2'000));
    commit();
    EXPECT_EQ(replies().back().prefix, 2'000U);
}

TEST_F(FairnessTest, ASpoolThatTurnsOverFastIsNotCutOffForIt) {
    open_small();
    say_hello();
    replies();
    constexpr std::uint64_t kCount = 5'000;
    for (std::uint64_t seq = 1'000; seq < 1'000 + kCount; ++seq) {
        take("peer", sample::batch_with(sample_batch(kTarget, kSession, Seq{seq}).build(),
                                        [&](wire::Batch::Builder batch) { batch.setOldestRetainedSeq(seq); }));
        expect_within_bounds();
    }
    EXPECT_EQ(ingest_->counts().batches_ignored.of(BatchIgnored::kBeyondCredit), kCount - 1);
    EXPECT_EQ(ingest_->counts().peers_cut.total(), 0U);
    commit();
    EXPECT_EQ(replies().back().prefix, 1'000U) << "nothing is taken of one that isn't admitted";
    take("peer", sample::batch_with(sample_batch(kTarget, kSession, Seq{1'000 + kCount}).build(),
                                    [](wire::Batch::Builder batch) { batch.setOldestRetainedSeq(1'000 + kCount); }));
    commit();
    EXPECT_EQ(replies().back().prefix, 1'000U + kCount) << "all before were given up";
}

TEST_F(FairnessTest, WhoGoesOnSendingNonsenseIsCutOff) {
    say_hello();
    for (std::uint32_t i = 0; i < intake_limits::kStrikesMax; ++i) {
        take("vandal", sample::Frame(24, std::byte{0xff}));
    }
    EXPECT_TRUE(link_.cut_off.empty());
    // Some strikes decay with time.
    pass(limits::kAckIntervalNs);
    for (std::uint32_t i = 0; i < intake_limits::kStrikesMax / 2; ++i) {
        take("vandal", sample::Frame(24, std::byte{0xff}));
    }
    EXPECT_TRUE(link_.cut_off.empty());
    take("vandal", sample::Frame(24, std::byte{0xff}));
    EXPECT_EQ(link_.cut_off, std::vector<std::string>{"vandal"});
    EXPECT_EQ(ingest_->counts().peers_cut.of(PeerCut::kMalformed), 1U);
    EXPECT_EQ(ingest_->counts().messages_malformed.of(MessageMalformed::kUnreadable), 385U);
}

TEST_F(FairnessTest, WhoGoesOnSendingAGatewaysOwnMessagesIsCutOff) {
    for (std::uint32_t i = 0; i < intake_limits::kStrikesMax; ++i) {
        take("vandal", encode_ack({}));
    }
    EXPECT_TRUE(link_.cut_off.empty());
    take("vandal", encode_ack({}));
    EXPECT_EQ(link_.cut_off, std::vector<std::string>{"vandal"});
}

TEST_F(FairnessTest, WhoGoesOnSendingWithoutASessionIsCutOff) {
    const std::vector<sample::Frame> frames{
        sample::bye(kSession, SessionEnd{}),
        sample::image_offers(kSession, {}),
        sample::batch(sample_batch(kTarget, kSession, Seq{1}).build()),
    };
    for (std::uint32_t round = 1; round <= frames.size(); ++round) {
        for (std::uint32_t i = 0; i < intake_limits::kStrikesMax; ++i) {
            take("vandal", frames[round - 1]);
        }
        EXPECT_EQ(ingest_->counts().peers_cut.total(), round - 1);
        take("vandal", frames[round - 1]);
        EXPECT_EQ(ingest_->counts().peers_cut.of(PeerCut::kNoSession), round);
    }
}

// Of its own session and of others.
TEST_F(FairnessTest, WhoGoesOnSayingHelloGetsNoAnswerAndIsCutOff) {
    const auto greet = [&](std::uint32_t number) {
        take("vandal", sample::hello(sample_session(kTarget, SessionId{8, 1 + number % 3})));
        return replies("vandal").size();
    };
    std::size_t answers = 0;
    for (std::uint32_t i = 0; i <= intake_limits::kStrikesMax; ++i) {
        answers += greet(i);
    }
    EXPECT_EQ(answers, 1 + intake_limits::kHellosRepeatedMax);
    EXPECT_TRUE(link_.cut_off.empty());
    EXPECT_EQ(greet(0), 0U);
    EXPECT_EQ(link_.cut_off, std::vector<std::string>{"vandal"});
    EXPECT_EQ(ingest_->counts().peers_cut.of(PeerCut::kHello), 1U);
}

TEST_F(FairnessTest, LargeHellosCutAPeerOffSooner) {
    SessionRecord record = sample_session(kTarget, kSession);
    EventRecord event = record.events.front();
    event.format = std::string(60'000, 'f');
    for (const char* const name : {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}) {
        event.name = name;
        record.events.push_back(event);
    }
    const sample::Frame hello = sample::hello(record);
    const std::size_t most = intake_limits::kStrikesSizeBytesMax / (hello.size() * intake_limits::kHelloBytesFactor);
    ASSERT_LT(most, intake_limits::kHellosRepeatedMax + 1);
    take("vandal", hello);
    for (std::size_t i = 0; i < most; ++i) {
        take("vandal", hello);
    }
    EXPECT_TRUE(link_.cut_off.empty());
    take("vandal", hello);
    EXPECT_EQ(link_.cut_off, std::vector<std::string>{"vandal"});
}

TEST_F(FairnessTest, ACollectorThatRepeatsItsHelloIsAnswered) {
    for (std::uint32_t i = 0; i < 2 * intake_limits::kStrikesMax; ++i) {
        say_hello();
        EXPECT_EQ(reply().type, ReplyType::kWelcome) << i;
        pass(limits::kAckIntervalNs);
        replies();
    }
    // One that delivers the sessions of its spool, one after the other.
    for (std::uint64_t i = 1; i <= intake_limits::kTargetSessionsMax / 2; ++i) {
        take("spool", sample::hello(sample_session(kTarget, SessionId{9, i})));
        EXPECT_EQ(reply("spool").type, ReplyType::kWelcome);
        take("spool", sample::bye(SessionId{9, i}, SessionEnd{}));
        commit();
        replies("spool");
    }
    EXPECT_EQ(ingest_->counts().peers_cut.total(), 0U);
}

// A peer opens one large session after the other over one connection: those of others stay.
TEST_F(FairnessTest, WhoOpensManySessionsPushesOutItsOwn) {
    Ingest::Options options;
    options.sessions_max = 4;
    open(nullptr, options);
    say_hello();
    EXPECT_EQ(reply().type, ReplyType::kWelcome);
    for (std::uint64_t i = 1; i <= 8; ++i) {
        take("many", sample::hello(sample_session(kTarget, SessionId{8, i})));
        EXPECT_EQ(reply("many").type, ReplyType::kWelcome);
    }
    send_batch(1);
    commit();
    EXPECT_EQ(reply().type, ReplyType::kAck) << "and not HelloAgain";
}

TEST_F(FairnessTest, ATargetWithSessionsWithoutEndIsRefused) {
    Ingest::Options options;
    options.cardinality.target_sessions_max = 3;
    open(nullptr, options);
    for (std::uint64_t i = 1; i <= 3; ++i) {
        take("peer", sample::hello(sample_session(kTarget, SessionId{8, i})));
        EXPECT_EQ(reply().type, ReplyType::kWelcome);
    }
    take("peer", sample::hello(sample_session(kTarget, SessionId{8, 4})));
    const Reply refused = reply();
    EXPECT_EQ(refused.type, ReplyType::kRefused);
    EXPECT_EQ(refused.reason, static_cast<std::uint16_t>(protocol::RefusedReason::kQuota));
    EXPECT_EQ(ingest_->counts().sessions_refused.of(SessionRefusal::kQuota), 1U);
    // Those that it has go on.
    take("peer", sample::hello(sample_session(kTarget, SessionId{8, 2})));
    EXPECT_EQ(reply().type, ReplyType::kWelcome);
}

}  // namespace
}  // namespace perfleet::fairness_test
