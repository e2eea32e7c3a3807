#include "gateway/ingest/ingest.h"

#include <gtest/gtest.h>

#include "gateway/admission/intake_limits.h"
#include "gateway/admission/testing/sample_changes.h"
#include "gateway/ingest/testing/ingest_fixture.h"
#include "schemas/wire/delivery_limits.h"
#include "schemas/wire/protocol.h"
#include "storage/store/memory_store.h"
#include "storage/store/testing/store_over.h"

namespace perfleet::ingest_test {
namespace {

using protocol::RefusedReason;
using sample::Reply;
using sample::ReplyType;

std::uint16_t number_of(RefusedReason reason) { return static_cast<std::uint16_t>(reason); }

class IngestTest : public testing::Test, protected IngestFixture {};
using IngestHello = IngestTest;
using IngestBatch = IngestTest;
using IngestBye = IngestTest;

TEST_F(IngestHello, IsAnsweredByWelcomeWithCredit) {
    say_hello();
    const Reply welcome = reply();
    EXPECT_EQ(welcome.type, ReplyType::kWelcome);
    EXPECT_EQ(welcome.session, kSession);
    EXPECT_EQ(welcome.prefix, 0U);
    EXPECT_EQ(welcome.send_limit, limits::kSendWindowBatches);
    EXPECT_EQ(welcome.utc_ns, kSampleUtcNs);
    EXPECT_EQ(welcome.incarnation, 1U);
}

TEST_F(IngestHello, StrangersAreAskedForIt) {
    send_batch(1);
    take("peer", sample::bye(kSession, {}));
    take("peer", sample::envelope_with([](wire::Envelope::Builder root) { root.initControl(); }));
    for (const Reply& again : replies()) {
        EXPECT_EQ(again.type, ReplyType::kHelloAgain);
        EXPECT_EQ(again.incarnation, 1U);
    }
    commit();
    EXPECT_EQ(ingest_->counts().batches_stored, 0U);
}

TEST_F(IngestHello, ABatchOfAnotherSessionThanTheHelloIsForgotten) {
    say_hello();
    replies();
    take("peer", sample::batch(sample_batch(kTarget, SessionId{1, 1}, Seq{1}).build()));
    EXPECT_EQ(reply().type, ReplyType::kHelloAgain);
}

TEST_F(IngestHello, GrantsTheSameSessionUntilTheWelcomeArrives) {
    const SessionRecord record = sample_session(kTarget, SessionId{});
    take("peer", sample::hello(record));
    const Reply first = reply();
    EXPECT_EQ(first.session, (SessionId{99, 1}));
    take("peer", sample::hello(record));
    EXPECT_EQ(reply().session, first.session);
    take("other", sample::hello(sample_session(TargetId{6}, SessionId{})));
    EXPECT_EQ(reply("other").session, (SessionId{99, 2}));
    // And takes it back when it is named.
    SessionRecord named = record;
    named.session = first.session;
    take("peer again", sample::hello(named));
    EXPECT_EQ(reply("peer again").session, first.session);
}

// One that stays the same as long as nobody says Hello otherwise: a deterministic image, started twice.
TEST_F(IngestHello, GrantsAnotherSessionOnceTheFirstWasUsed) {
    const SessionRecord record = sample_session(kTarget, SessionId{});
    take("peer", sample::hello(record));
    const SessionId first = reply().session;
    take("peer", sample::batch(sample_batch(kTarget, first, Seq{1}).build()));
    take("peer", sample::hello(record));
    EXPECT_NE(reply().session, first);
}

// As after an older copy of the store was put back: its collector knows more to be stored than there is.
TEST_F(IngestHello, SaysThatTheStoreLacksWhatItsCollectorNoLongerHas) {
    say_hello();
    send_batch(1);
    send_batch(4);
    commit();
    EXPECT_EQ(ingest_->counts().batches_skipped, 0U);
    open();
    say_hello("peer", Seq{7});
    ASSERT_EQ(logged_.size(), 1U);
    EXPECT_NE(logged_[0].find("has batches from 7 on, and its session is stored up to 1: the store is older"),
              std::string::npos)
        << logged_[0];
    commit();
    EXPECT_EQ(ingest_->counts().batches_skipped, 4U);  // 2, 3, 5 and 6
    say_hello("peer", Seq{7});
    commit();
    EXPECT_EQ(ingest_->counts().batches_skipped, 4U);
    EXPECT_EQ(logged_.size(), 1U);
}

class IngestMonotonicity : public IngestTest {
protected:
    // A collector without a spool on disk reports that, with the reading of its clock.
    Reply answer_to(std::uint64_t clock, std::uint64_t oldest_retained, const std::string& peer) {
        take(peer, sample::hello_with(sample_session(kTarget, kSession), [&](wire::Hello::Builder hello) {
                 hello.setClockTicks(clock);
                 hello.setOldestRetainedSeq(oldest_retained);
             }));
        return reply(peer);
    }
    void expect_refused(std::uint64_t clock, std::uint64_t oldest_retained, const std::string& what) {
        const Reply refused = answer_to(clock, oldest_retained, "again");
        EXPECT_EQ(refused.type, ReplyType::kRefused);
        EXPECT_EQ(refused.seq, 0U);
        EXPECT_EQ(refused.reason, number_of(RefusedReason::kReplay));
        EXPECT_NE(refused.text.find(what), std::string::npos) << refused.text;
        EXPECT_EQ(ingest_->counts().sessions_refused.of(SessionRefusal::kReplay), ++refused_);
    }

private:
    std::uint64_t refused_ = 0;
};

TEST_F(IngestMonotonicity, ASessionWhoseClockWentBackIsRefusedAndItsPeerSpeaksOn) {
    EXPECT_EQ(answer_to(5'000, 1, "peer").type, ReplyType::kWelcome);
    expect_refused(4'999, 1, "its clock reads 4999 where 5000 was before");
    send_batch(6);  // its rows are at 6000 and 6001
    expect_refused(6'000, 1, "where 6001 was before");
    commit();
    EXPECT_EQ(reply().type, ReplyType::kAck);
    EXPECT_EQ(answer_to(6'001, 1, "came back").type, ReplyType::kWelcome);
}

TEST_F(IngestMonotonicity, ItsClockIsKnownToAGatewayThatStartsAnew) {
    EXPECT_EQ(answer_to(500, 1, "peer").type, ReplyType::kWelcome);
    send_batch(1);
    send_batch(2);
    commit();
    replies();
    open();
    const Reply refused = answer_to(2'000, 1, "again");
    EXPECT_EQ(refused.reason, number_of(RefusedReason::kReplay));
    EXPECT_EQ(answer_to(2'001, 1, "peer").prefix, 2U);
    const ClockPoint end{Ticks{9'000}, UtcNs{kSampleUtcNs}, 1};
    take("peer", sample::bye(kSession, {.last_seq = Seq{2}, .counts = {}, .dropped = {}, .end_point = end}));
    commit();
    open();
    EXPECT_EQ(answer_to(8'999, 3, "again").reason, number_of(RefusedReason::kReplay));
    EXPECT_EQ(answer_to(9'000, 2, "again").reason, number_of(RefusedReason::kReplay)) << "nothing was left";
    EXPECT_EQ(answer_to(9'000, 3, "came back").type, ReplyType::kWelcome);
}

TEST_F(IngestMonotonicity, ASessionWhoseSequenceWentBackIsRefused) {
    EXPECT_EQ(answer_to(100'000, 1, "peer").type, ReplyType::kWelcome);
    for (std::uint64_t seq = 1; seq <= limits::kSendWindowBatches; ++seq) {
        send_batch(seq);
    }
    commit();
    replies();
    // All of them may still be on their way.
    EXPECT_EQ(answer_to(100'000, 1, "peer").type, ReplyType::kWelcome);
    EXPECT_EQ(answer_to(100'000, 40, "other").type, ReplyType::kWelcome);
    expect_refused(100'000, 39, "claims to keep batches from 39 on, but 40 is the first possible one");
    take("other", sample::batch(sample_batch(kTarget, kSession, Seq{65}).build()));
    commit();
    open();
    EXPECT_EQ(answer_to(200'000, 1, "again").reason, number_of(RefusedReason::kReplay)) << "one more than the window";
    EXPECT_EQ(answer_to(200'000, 2, "peer").prefix, 65U);
}

// With a spool on disk, a loss of power may bring back what the disk had.
TEST_F(IngestMonotonicity, WhoTellsNoClockIsBelieved) {
    EXPECT_EQ(answer_to(5'000, 30, "peer").type, ReplyType::kWelcome);
    EXPECT_EQ(answer_to(0, 1, "other").type, ReplyType::kWelcome);
}

TEST_F(IngestHello, RefusesASessionOfAnotherTargetOrDescription) {
    say_hello();
    send_batch(1);
    commit();
    SessionRecord other_target = sample_session(TargetId{6}, kSession);
    SessionRecord other_record = sample_session(kTarget, kSession);
    other_record.ticks_per_second = 19'200'000;
    for (const bool restarted : {false, true}) {
        if (restarted) {
            open();
        }
        take("thief", sample::hello(other_target));
        const Reply identity = reply("thief");
        EXPECT_EQ(identity.type, ReplyType::kRefused);
        EXPECT_EQ(identity.seq, 0U);
        EXPECT_EQ(identity.reason, number_of(RefusedReason::kIdentity));
        take("thief", sample::hello(other_record));
        EXPECT_EQ(reply("thief").reason, number_of(RefusedReason::kConflict));
        EXPECT_EQ(ingest_->counts().sessions_refused.of(SessionRefusal::kIdentity), 1U);
        EXPECT_EQ(ingest_->counts().sessions_refused.of(SessionRefusal::kConflict), 1U);
    }
}

TEST_F(IngestHello, RefusalsDontFloodTheOperator) {
    SessionRecord record = sample_session(kTarget, kSession);
    for (int i = 0; i < 100; ++i) {
        record.target_name = "\x1b[2J" + std::to_string(i);
        record.labels = {{"same", "1"}, {"same", "2"}};
        take("peer", sample::hello(record));
    }
    record.labels.clear();
    take("peer", sample::hello(record));
    record.target = TargetId{99};
    pass(limits::kAckIntervalNs);
    EXPECT_EQ(logged_.size(), intake_limits::kWarningsMax + 1);
    EXPECT_EQ(logged_.back(), "92 more messages about collectors were left out");
    take("peer", sample::hello(record));
    EXPECT_EQ(logged_.back(), "a collector was refused: '?[2J99' names a session of another target");
}

TEST_F(IngestHello, RefusesAnotherProtocolByName) {
    for (const std::uint16_t version : std::initializer_list<std::uint16_t>{0, 2, 3, 9}) {
        take("peer", sample::of_version(version, sample::hello(sample_session(kTarget, kSession))));
        const Reply refused = reply();
        EXPECT_EQ(refused.reason, number_of(RefusedReason::kOtherVersion));
        EXPECT_EQ(refused.session, kSession);
        EXPECT_NE(refused.text.find("protocol version " + std::to_string(version) + ", this gateway 1"),
                  std::string::npos)
            << refused.text;
    }
    say_hello();
    replies();
    take("peer", sample::of_version(3, sample::batch(sample_batch(kTarget, kSession, Seq{1}).build())));
    commit();
    EXPECT_TRUE(stored_seqs().empty());
}

TEST_F(IngestHello, TheNewestPeerSpeaksForTheSession) {
    say_hello("one");
    say_hello("two");
    send_batch(1, "two");
    commit();
    EXPECT_EQ(replies("two").back().prefix, 1U);
    replies("one");
    send_batch(2, "one");
    EXPECT_EQ(reply("one").type, ReplyType::kHelloAgain);
}

TEST_F(IngestHello, ProbesAreAnsweredWithAndWithoutIt) {
    take("peer", sample::probe());
    EXPECT_EQ(reply().type, ReplyType::kHelloAgain);
    say_hello();
    replies();
    take("peer", sample::probe());
    EXPECT_EQ(reply().type, ReplyType::kHelloAgain);
}

TEST_F(IngestBatch, IsAcknowledgedOnlyAfterTheGroupCommit) {
    say_hello();
    replies();
    send_batch(1);
    send_batch(2);
    pass(limits::kGroupCommitNs - 1);
    EXPECT_TRUE(replies().empty());
    EXPECT_TRUE(stored_seqs().empty());
    pass(1);
    const Reply ack = reply();
    EXPECT_EQ(ack.type, ReplyType::kAck);
    EXPECT_EQ(ack.prefix, 2U);
    EXPECT_EQ(ack.send_limit, 2 + limits::kSendWindowBatches);
    EXPECT_EQ(stored_seqs(), (std::vector<std::uint64_t>{1, 2}));
    EXPECT_EQ(store_->watermark(kTarget, kSession).value(), Seq{2});
    const GatewayCounts counts = ingest_->counts();
    EXPECT_EQ(counts.batches_stored, 2U);
    EXPECT_EQ(counts.rows_stored, 4U);
    EXPECT_EQ(counts.group_commits, 1U);
}

TEST_F(IngestBatch, DefinesTheSessionBeforeItsRows) {
    say_hello();
    send_batch(1);
    commit();
    const auto sessions = store_->sessions(partition_of(kTarget, kSampleBucket));
    ASSERT_TRUE(sessions.ok());
    ASSERT_EQ(sessions->size(), 1U);
    SessionRecord expected = sample_session(kTarget, kSession);
    expected.received = UtcNs{kSampleUtcNs};
    EXPECT_EQ(sessions->front(), expected);
}

TEST_F(IngestBatch, IsStoredOnceHoweverOftenItComes) {
    say_hello();
    send_batch(1);
    send_batch(1);
    commit();
    send_batch(1);
    say_hello("again");
    send_batch(1, "again");
    commit();
    EXPECT_EQ(stored_seqs(), (std::vector<std::uint64_t>{1}));
    EXPECT_EQ(ingest_->counts().batches_stored, 1U);
    EXPECT_EQ(ingest_->counts().batches_duplicate, 3U);
    EXPECT_EQ(replies("again").back().prefix, 1U);
}

TEST_F(IngestBatch, OutOfOrderIsStoredButThePrefixWaits) {
    say_hello();
    replies();
    send_batch(3);
    send_batch(2);
    commit();
    EXPECT_EQ(reply().prefix, 0U);
    send_batch(1);
    commit();
    EXPECT_EQ(reply().prefix, 3U);
    EXPECT_EQ(store_->watermark(kTarget, kSession).value(), Seq{3});
}

TEST_F(IngestBatch, FarBeyondThePrefixIsIgnored) {
    say_hello();
    replies();
    send_batch(limits::kOutOfOrderSeqsMax + 1);
    commit();
    EXPECT_TRUE(replies().empty());
    EXPECT_EQ(ingest_->counts().batches_ignored.of(BatchIgnored::kBeyondWindow), 1U);
    send_batch(limits::kSendWindowBatches);
    commit();
    EXPECT_EQ(ingest_->counts().batches_stored, 1U);
}

TEST_F(IngestBatch, OldestRetainedMovesThePrefixOverWhatWasDropped) {
    say_hello();
    replies();
    const std::uint64_t far = 3 * limits::kOutOfOrderSeqsMax;
    take("peer", sample::batch_with(sample_batch(kTarget, kSession, Seq{far}).dropped(Seq{1}, Seq{far - 1}).build(),
                                    [&](wire::Batch::Builder batch) { batch.setOldestRetainedSeq(far); }));
    commit();
    EXPECT_EQ(reply().prefix, far);
    say_hello("later", Seq{far + 10});
    commit();
    EXPECT_EQ(replies("later").back().prefix, far + 9);
    EXPECT_EQ(store_->watermark(kTarget, kSession).value(), Seq{far + 9});
}

TEST_F(IngestBatch, OfOtherContentIsAConflictAndNeverStored) {
    say_hello();
    send_batch(2);
    commit();
    replies();
    const auto other = sample::batch(sample_batch(kTarget, kSession, Seq{2}, 5).build());
    take("peer", other);
    commit();
    const Reply refused = reply();
    EXPECT_EQ(refused.type, ReplyType::kRefused);
    EXPECT_EQ(refused.seq, 2U);
    EXPECT_EQ(refused.reason, number_of(RefusedReason::kConflict));
    // Also within one group, in another partition, and judged by the store after a restart.
    send_batch(3);
    take("peer",
         sample::batch(sample_batch(kTarget, kSession, Seq{3}, 5, BucketNumber{kSampleBucket.value - 1}).build()));
    commit();
    EXPECT_EQ(replies().front().reason, number_of(RefusedReason::kConflict));
    open();
    say_hello();
    take("peer", other);
    commit();
    EXPECT_EQ(ingest_->counts().batches_refused.of(BatchRefusal::kConflict), 1U);
    EXPECT_EQ(stored_seqs(), (std::vector<std::uint64_t>{2, 3}));
    EXPECT_TRUE(stored_seqs(BucketNumber{kSampleBucket.value - 1}).empty());
}

// Its reply may have got lost: a prefix beyond it would mean to the collector that it is stored.
TEST_F(IngestBatch, RefusedIsPassedOverOnceTheCollectorKnows) {
    say_hello();
    replies();
    const auto broken = sample::batch_with(sample_batch(kTarget, kSession, Seq{1}).build(),
                                           [](wire::Batch::Builder batch) { batch.setSeal(batch.getSeal() + 1); });
    take("peer", broken);
    const Reply refused = reply();
    EXPECT_EQ(refused.type, ReplyType::kRefused);
    EXPECT_EQ(refused.seq, 1U);
    EXPECT_EQ(refused.reason, number_of(RefusedReason::kMalformed));
    EXPECT_NE(refused.text.find("seal"), std::string::npos) << refused.text;
    EXPECT_EQ(ingest_->counts().batches_refused.of(BatchRefusal::kSeal), 1U);
    send_batch(2);
    commit();
    EXPECT_EQ(reply().prefix, 0U);
    EXPECT_EQ(stored_seqs(), (std::vector<std::uint64_t>{2}));
    EXPECT_EQ(store_->watermark(kTarget, kSession).value(), Seq{0});
    // It comes again, also to a gateway that has never seen it, and is refused again.
    take("peer", broken);
    EXPECT_EQ(reply().type, ReplyType::kRefused);
    open();
    say_hello();
    EXPECT_EQ(reply().prefix, 0U);
    take("peer", broken);
    EXPECT_EQ(reply().type, ReplyType::kRefused);
    // It is gone from the collector.
    take("peer", sample::batch_with(sample_batch(kTarget, kSession, Seq{3}).build(),
                                    [](wire::Batch::Builder batch) { batch.setOldestRetainedSeq(2); }));
    commit();
    EXPECT_EQ(reply().prefix, 3U);
    EXPECT_EQ(store_->watermark(kTarget, kSession).value(), Seq{3});
}

TEST_F(IngestBatch, RefusedOnesInARowDontStopTheSession) {
    say_hello();
    const auto broken = [](std::uint64_t seq) {
        return sample::batch_with(sample_batch(kTarget, kSession, Seq{seq}).build(), [&](wire::Batch::Builder batch) {
            batch.setSeal(batch.getSeal() + 1);
            batch.setOldestRetainedSeq(seq);
        });
    };
    for (std::uint64_t seq = 1; seq <= 3 * limits::kSendWindowBatches; ++seq) {
        take("peer", broken(seq));
    }
    replies();
    commit();
    EXPECT_TRUE(replies().empty());
    EXPECT_EQ(store_->watermark(kTarget, kSession).value(), Seq{0});
    constexpr std::uint64_t kGood = 3 * limits::kSendWindowBatches + 1;
    take("peer", sample::batch_with(sample_batch(kTarget, kSession, Seq{kGood}).build(),
                                    [](wire::Batch::Builder batch) { batch.setOldestRetainedSeq(kGood); }));
    commit();
    EXPECT_EQ(reply().prefix, kGood);
}

// Neither damaged, nor refused, nor in conflict: each says that batches below 3 will never come.
TEST_F(IngestBatch, NothingMovesThePrefixThatIsNotAdmitted) {
    say_hello();
    send_batch(4);
    commit();
    replies();
    const auto with_oldest = [](Seq seq, std::uint32_t seal_change) {
        return sample::batch_with(sample_batch(kTarget, kSession, seq).build(), [&](wire::Batch::Builder batch) {
            batch.setOldestRetainedSeq(3);
            batch.setSeal(batch.getSeal() + seal_change);
        });
    };
    take("peer", with_oldest(Seq{3}, 1));
    take("peer", with_oldest(Seq{4}, 1));
    auto damaged = with_oldest(Seq{4}, 0);
    damaged[damaged.size() / 2] ^= std::byte{0x10};
    take("peer", damaged);
    EXPECT_EQ(ingest_->counts().messages_malformed.of(MessageMalformed::kChecksum), 1U);
    send_batch(5);
    take("peer", with_oldest(Seq{5}, 1));
    commit();
    EXPECT_EQ(replies().back().prefix, 0U);
    EXPECT_EQ(store_->watermark(kTarget, kSession).value(), Seq{0});
    EXPECT_EQ(ingest_->counts().batches_refused.of(BatchRefusal::kConflict), 2U);
    // The same of a batch that is there, as it was sent.
    take("peer", with_oldest(Seq{4}, 0));
    commit();
    EXPECT_EQ(replies().back().prefix, 2U);
    EXPECT_EQ(store_->watermark(kTarget, kSession).value(), Seq{2});
}

// Of a message of each kind.
TEST_F(IngestHello, NothingIsTakenOfADamagedMessage) {
    const SessionRecord record = sample_session(kTarget, kSession);
    for (const sample::Frame& frame :
         {sample::hello(record), sample::batch(sample_batch(kTarget, kSession, Seq{1}).build()),
          sample::bye(kSession, {Seq{9}, {}, {}, {}}), sample::controlled(kSession, 1, 1, "")}) {
        for (std::size_t byte = 8; byte < frame.size(); ++byte) {
            sample::Frame damaged = frame;
            damaged[byte] ^= static_cast<std::byte>(1U << (byte % 8));
            take("peer" + std::to_string(byte), damaged);
        }
    }
    commit();
    EXPECT_EQ(ingest_->counts().messages_malformed.total(), ingest_->counts().messages);
    EXPECT_EQ(ingest_->counts().messages_malformed.of(MessageMalformed::kChecksum), ingest_->counts().messages);
    EXPECT_EQ(ingest_->counts().sessions_now, 0U);
    EXPECT_TRUE(store_->all_sessions().value().empty());
}

TEST_F(IngestBatch, RefusedIsPassedOverByABatchThatIsThereAlready) {
    const auto send_second = [&](std::uint64_t oldest_retained) {
        take("peer",
             sample::batch_with(sample_batch(kTarget, kSession, Seq{2}).build(),
                                [&](wire::Batch::Builder batch) { batch.setOldestRetainedSeq(oldest_retained); }));
    };
    for (const bool is_committed : {true, false}) {
        SCOPED_TRACE(is_committed);
        store_ = make_memory_store();
        open();
        say_hello();
        send_second(1);
        if (is_committed) {
            commit();
        }
        take("peer", sample::batch_with(sample_batch(kTarget, kSession, Seq{1}).build(),
                                        [](wire::Batch::Builder batch) { batch.setSeal(7); }));
        EXPECT_EQ(replies().back().type, ReplyType::kRefused);
        // Its collector has nothing else left to send.
        send_second(2);
        commit();
        EXPECT_EQ(replies().back().prefix, 2U);
        EXPECT_EQ(stored_seqs(), (std::vector<std::uint64_t>{2}));
    }
}

// A peer's connection holds few replies: if all its refusals were sent before it, the Welcome would never arrive.
TEST_F(IngestHello, TellsFewRefusalsBeforeTheWelcome) {
    say_hello();
    for (std::uint64_t seq = 1; seq <= 50; ++seq) {
        take("peer", sample::batch_with(sample_batch(kTarget, kSession, Seq{seq}).build(),
                                        [](wire::Batch::Builder batch) { batch.setSeal(7); }));
    }
    say_hello("again");
    const auto replies_again = replies("again");
    ASSERT_EQ(replies_again.size(), intake_limits::kRefusalsRememberedMax + 1);
    EXPECT_EQ(replies_again.back().type, ReplyType::kWelcome);
    EXPECT_EQ(replies_again.front().seq, 43U);
    // Only the refusals that the collector doesn't show to have received.
    say_hello("once more", Seq{50});
    const auto rest = replies("once more");
    ASSERT_EQ(rest.size(), 2U);
    EXPECT_EQ(rest.front().seq, 50U);
}

TEST_F(IngestBatch, RefusedIsPassedOverByTheBye) {
    say_hello();
    take("peer", sample::batch_with(sample_batch(kTarget, kSession, Seq{1}).build(),
                                    [](wire::Batch::Builder batch) { batch.setSeal(batch.getSeal() + 1); }));
    replies();
    take("peer", sample::bye(kSession, SessionEnd{Seq{1}, {}, {}, {}}));
    commit();
    const Reply last = reply();
    EXPECT_EQ(last.prefix, 1U);
    EXPECT_TRUE(last.finished);
    EXPECT_EQ(store_->watermark(kTarget, kSession).value(), Seq{1});
}

TEST_F(IngestBatch, ARestartedGatewayGoesOn) {
    say_hello();
    send_batch(1);
    send_batch(3);
    commit();
    open();
    replies();
    say_hello();
    EXPECT_EQ(reply().prefix, 1U);
    send_batch(3);
    send_batch(2);
    commit();
    EXPECT_EQ(replies().back().prefix, 3U);
    EXPECT_EQ(ingest_->counts().batches_stored, 1U);
    EXPECT_EQ(ingest_->counts().batches_duplicate, 1U);
    EXPECT_EQ(stored_seqs(), (std::vector<std::uint64_t>{1, 2, 3}));
}

// Another writer was there in between: the store alone knows.
TEST_F(IngestBatch, OfOtherContentThanSomebodyElseStoredIsAConflict) {
    say_hello();
    replies();
    ASSERT_TRUE(store_->define(partition_of(kTarget, kSampleBucket), sample_session(kTarget, kSession)).ok());
    const std::vector others{sample_batch(kTarget, kSession, Seq{1}, 5).build()};
    ASSERT_TRUE(store_->put(partition_of(kTarget, kSampleBucket), others).ok());
    send_batch(1);
    send_batch(2);
    commit();
    const auto said = replies();
    ASSERT_EQ(said.size(), 2U);
    EXPECT_EQ(said[0].type, ReplyType::kRefused);
    EXPECT_EQ(said[0].seq, 1U);
    EXPECT_EQ(said[0].reason, number_of(RefusedReason::kConflict));
    EXPECT_EQ(said[1].prefix, 2U) << "it is resolved";
    EXPECT_EQ(ingest_->counts().batches_refused.of(BatchRefusal::kConflict), 1U);
    EXPECT_EQ(ingest_->counts().batches_stored, 1U);
    EXPECT_EQ(store_->watermark(kTarget, kSession).value(), Seq{2});
    send_batch(3);
    commit();
    EXPECT_EQ(replies().back().prefix, 3U);
    EXPECT_EQ(ingest_->counts().batches_refused.total(), 1U) << "told once";
}

TEST_F(IngestBatch, TheNextThingIsDueWhenAGroupIsOrARound) {
    say_hello();
    const std::uint64_t round_ns = ingest_->next_due_ns(now_);
    EXPECT_GT(round_ns, limits::kGroupCommitNs);
    EXPECT_LE(round_ns, limits::kAckIntervalNs);
    now_.monotonic_ns += 10;
    EXPECT_EQ(ingest_->next_due_ns(now_), round_ns - 10);
    send_batch(1);
    EXPECT_EQ(ingest_->next_due_ns(now_), limits::kGroupCommitNs);
    now_.monotonic_ns += limits::kGroupCommitNs - 1;
    EXPECT_EQ(ingest_->next_due_ns(now_), 1U);
    now_.monotonic_ns += 5;
    EXPECT_EQ(ingest_->next_due_ns(now_), 0U) << "late";
    ASSERT_TRUE(ingest_->tick(now_).ok());
    EXPECT_GT(ingest_->next_due_ns(now_), limits::kGroupCommitNs);
    ingest_->place_request(1, {kSession, protocol::ControlCommand::kStop, "", 0, 500}, now_);
    EXPECT_EQ(ingest_->next_due_ns(now_), 500U);
}

// What was dropped before its watermark is in no batch that is stored.
TEST_F(IngestBatch, ARestartedGatewayKnowsTheWatermark) {
    say_hello();
    take("peer", sample::batch_with(sample_batch(kTarget, kSession, Seq{5}).dropped(Seq{1}, Seq{4}).build(),
                                    [](wire::Batch::Builder batch) { batch.setOldestRetainedSeq(5); }));
    commit();
    EXPECT_EQ(replies().back().prefix, 5U);
    open();
    say_hello();
    EXPECT_EQ(reply().prefix, 5U);
    send_batch(5);
    commit();
    EXPECT_EQ(ingest_->counts().batches_duplicate, 1U);
    EXPECT_EQ(ingest_->counts().batches_stored, 0U);
}

TEST_F(IngestBatch, AcknowledgementsAreRepeatedLessAndLessOften) {
    say_hello();
    send_batch(1);
    commit();
    replies();
    std::uint64_t ack_count = 0;
    for (std::uint64_t second = 1; second <= 30; ++second) {
        pass(limits::kAckIntervalNs);
        for (const Reply& ack : replies()) {
            EXPECT_EQ(ack.prefix, 1U);
            ++ack_count;
        }
    }
    EXPECT_EQ(ack_count, 5U);  // at 2, 6, 14, 22 and 30 seconds
    send_batch(2);
    commit();
    replies();
    pass(intake_limits::kAckRepeatNsMin);
    EXPECT_EQ(reply().prefix, 2U);
    ingest_->forget_peer("peer");
    pass(intake_limits::kAckRepeatNsMax);
    EXPECT_TRUE(replies().empty());
}

TEST_F(IngestBatch, SessionsBeyondTheLimitAreForgottenAndCarryOn) {
    Ingest::Options options;
    options.sessions_max = 2;
    open(nullptr, options);
    const auto hello_of = [](std::uint64_t id) {
        return sample::hello(sample_session(TargetId{id}, SessionId{7, id}));
    };
    const auto batch_of = [](std::uint64_t id, std::uint64_t seq) {
        return sample::batch(sample_batch(TargetId{id}, SessionId{7, id}, Seq{seq}).build());
    };
    take("1", hello_of(1));
    take("1", batch_of(1, 1));
    commit();
    take("2", hello_of(2));
    take("2", batch_of(2, 1));
    commit();
    take("3", hello_of(3));
    take("4", hello_of(4));  // the one before has nothing stored, and goes first
    replies("1");
    take("1", batch_of(1, 2));
    EXPECT_EQ(reply("1").type, ReplyType::kHelloAgain);
    take("1", hello_of(1));
    EXPECT_EQ(reply("1").prefix, 1U);
    take("1", batch_of(1, 1));
    take("1", batch_of(1, 2));
    commit();
    EXPECT_EQ(replies("1").back().prefix, 2U);
    EXPECT_EQ(ingest_->counts().batches_stored, 3U);
}

TEST_F(IngestBye, IsFinishedOnceItIsDurable) {
    say_hello();
    send_batch(1);
    const SessionEnd end{
        Seq{1}, {{{Kind::kSample, EventNumber{0}}, CountName::kProduced, 2}}, {}, {Ticks{9}, UtcNs{kSampleUtcNs}, 11}};
    replies();
    take("peer", sample::bye(kSession, end));
    EXPECT_TRUE(replies().empty());
    commit();
    const Reply ack = reply();
    EXPECT_TRUE(ack.finished);
    EXPECT_EQ(ack.prefix, 1U);
    EXPECT_EQ(store_->session_end(kTarget, kSession).value(), end);
    // Said again, also to a gateway that was started since, it is answered at once; the first one stays.
    for (const bool restarted : {false, true}) {
        if (restarted) {
            open();
            say_hello();
            replies();
        }
        SessionEnd other = end;
        other.last_seq = Seq{7};
        take("peer", sample::bye(kSession, other));
        pass(0);
        EXPECT_TRUE(replies().back().finished);
        EXPECT_EQ(store_->session_end(kTarget, kSession).value(), end);
    }
}

// Only a message to a peer shows that it has gone, and after the last acknowledgement there is none.
TEST_F(IngestBye, ItsPeerIsForgottenAWhileLater) {
    say_hello();
    take("peer", sample::bye(kSession, {}));
    commit();
    EXPECT_TRUE(replies().back().finished);
    EXPECT_EQ(ingest_->counts().peers_now, 1U);
    pass(intake_limits::kEndedPeerKeptNs / 2);
    EXPECT_EQ(ingest_->counts().peers_now, 1U);
    pass(intake_limits::kEndedPeerKeptNs);
    pass(0);  // counts are those before a round
    EXPECT_EQ(ingest_->counts().peers_now, 0U);
    // A peer that is still connected sends Hello again.
    take("peer", sample::bye(kSession, {}));
    EXPECT_EQ(reply().type, ReplyType::kHelloAgain);
    say_hello();
    EXPECT_EQ(reply().type, ReplyType::kWelcome);
    pass(intake_limits::kEndedPeerKeptNs / 2);
    take("peer", sample::bye(kSession, {}));
    pass(0);
    EXPECT_TRUE(replies().back().finished);
}

TEST_F(IngestBye, MakesASessionWithoutBatchesKnown) {
    say_hello();
    take("peer", sample::bye(kSession, {}));
    commit();
    EXPECT_TRUE(replies().back().finished);
    EXPECT_EQ(store_->all_sessions().value().size(), 1U);
}

TEST_F(IngestBye, WithACountOfAnUnknownEventRefusesTheSession) {
    say_hello();
    replies();
    take("peer",
         sample::bye(kSession, {Seq{0}, {{{Kind::kSample, EventNumber{77}}, CountName::kProduced, 2}}, {}, {}}));
    const Reply refused = reply();
    EXPECT_EQ(refused.type, ReplyType::kRefused);
    EXPECT_EQ(refused.seq, 0U);
    commit();
    EXPECT_FALSE(store_->session_end(kTarget, kSession).value().has_value());
}

// Damage from before the start, and damage that is found while it runs, is logged, each once.
TEST_F(IngestTest, LogsDamageOfTheStoreOnce) {
    class DamagedStore final : public StoreOver {
    public:
        using StoreOver::StoreOver;
        std::vector<std::string> damage() const override { return found; }
        std::vector<std::string> found{"000007.sst is damaged"};
    };
    DamagedStore store{*store_};
    open(&store);
    store.found.emplace_back("000009.sst is damaged");
    for (int round = 0; round < 3; ++round) {
        pass(limits::kAckIntervalNs);
    }
    ASSERT_EQ(logged_.size(), 2U);
    EXPECT_NE(logged_[0].find("000007.sst is damaged; "), std::string::npos) << logged_[0];
    EXPECT_NE(logged_[1].find("000009.sst is damaged; "), std::string::npos) << logged_[1];
    EXPECT_NE(logged_[1].find("asked for again"), std::string::npos) << logged_[1];
}

}  // namespace
}  // namespace perfleet::ingest_test
