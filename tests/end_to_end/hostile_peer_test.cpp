// What strangers may send to a gateway: it survives, and serves a good peer all the while.
#include <gtest/gtest.h>
#include <zmq.h>

#include <csignal>
#include <cstring>
#include <random>
#include <string>

#include "gateway/admission/testing/sample_messages.h"
#include "schemas/vocabulary/batch_limits.h"
#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/process.h"
#include "tests/end_to_end/raw_connection.h"
#include "tests/end_to_end/sample_peer.h"
#include "tests/end_to_end/stored_ledger.h"

namespace perfleet::end_to_end::hostile_peer_test {
namespace {

constexpr TargetId kTarget{3};
constexpr SessionId kSession{1, 2};
constexpr SessionId kOtherSession{1, 3};
constexpr BucketNumber kBucket{400'000};

AdmittedBatch batch_of(SessionId session, std::uint64_t seq) {
    return sample_batch(kTarget, session, Seq{seq}, kBucket);
}

class HostilePeer : public testing::Test {
protected:
    // The gateway still takes batches of a peer that keeps the rules, and each of them once.
    void expect_good_peer_is_served() {
        SamplePeer peer{gateway_.listen()};
        const std::uint64_t prefix = peer.greet(sample_session(kTarget, kSession)).prefix;
        EXPECT_EQ(prefix, good_batches_);
        for (int i = 0; i < 3; ++i) {
            peer.send(sample::batch(batch_of(kSession, ++good_batches_)));
        }
        peer.wait_for_prefix(good_batches_);
    }

    ~HostilePeer() override {
        expect_good_peer_is_served();
        EXPECT_EQ(gateway_.end(SIGTERM).status, 0) << gateway_.process().error_output();
        for (const StoredLedger& ledger : ledgers_of(folder_ / "data")) {
            if (ledger.session.session == kSession) {
                EXPECT_EQ(ledger.seqs.size(), good_batches_);
                EXPECT_EQ(ledger.series.at({Kind::kSample, EventNumber{0}}).stored, 2 * good_batches_);
            }
        }
    }

    TemporaryFolder folder_;
    GatewayProgram gateway_{folder_ / "data"};
    std::uint64_t good_batches_ = 0;
};

TEST_F(HostilePeer, MaySpeakAnotherProtocol) {
    expect_good_peer_is_served();
    std::mt19937_64 random{7};
    for (int i = 0; i < 50; ++i) {
        const RawConnection connection{gateway_.listen()};
        std::string bytes(random() % 4'096, 0);
        for (char& byte : bytes) {
            byte = static_cast<char>(random());
        }
        connection.write(bytes);
    }
    const RawConnection http{gateway_.listen()};
    http.write("GET / HTTP/1.1\r\nHost: gateway\r\n\r\n");
    // A good greeting and nothing after it, and one that is cut off.
    const std::string greeting = std::string{"\xff\0\0\0\0\0\0\0\0\x7f\x03\0NULL", 16} + std::string(48, '\0');
    const RawConnection silent{gateway_.listen()};
    silent.write(greeting);
    const RawConnection cut{gateway_.listen()};
    cut.write(greeting.substr(0, 20));
    // Then a command that claims to be huge.
    const RawConnection huge{gateway_.listen()};
    huge.write(greeting + std::string{"\x06\x7f\xff\xff\xff\xff\xff\xff\xff", 9} + "READY");
    expect_good_peer_is_served();
}

TEST_F(HostilePeer, MaySendFramesThatAreNoMessages) {
    SamplePeer hostile{gateway_.listen()};
    std::mt19937_64 random{11};
    const sample::Frame good = sample::batch(batch_of(kOtherSession, 1));
    const sample::Frame hello = sample::hello(sample_session(kTarget, kOtherSession));
    for (int i = 0; i < 3'000; ++i) {
        sample::Frame frame = i % 2 == 0 ? good : hello;
        frame.resize(random() % (frame.size() + 1));
        for (std::uint64_t changes = random() % 20; changes > 0 && !frame.empty(); --changes) {
            frame[random() % frame.size()] = static_cast<std::byte>(random());
        }
        hostile.send(frame);
    }
    // It was cut off meanwhile, so over a connection of its own.
    SamplePeer other{gateway_.listen()};
    other.send(sample::probe());
    other.wait_for(sample::ReplyType::kHelloAgain);
}

TEST_F(HostilePeer, MayLieInItsBatches) {
    SamplePeer hostile{gateway_.listen()};
    hostile.greet(sample_session(kTarget, kOtherSession));
    std::uint64_t seq = 0;
    const auto send_changed = [&](const auto& change) {
        AdmittedBatch batch = batch_of(kOtherSession, ++seq);
        change(batch);
        hostile.send(sample::resealed_batch(batch));
    };
    const auto expect_refused = [&] {
        const sample::Reply refused = hostile.wait_for(sample::ReplyType::kRefused);
        EXPECT_EQ(refused.seq, seq);
        EXPECT_NE(refused.text, "");
    };
    AdmittedBatch other_seal = batch_of(kOtherSession, ++seq);
    ++other_seal.record.seal;
    hostile.send(sample::batch(other_seal));
    expect_refused();
    send_changed([](AdmittedBatch& batch) { batch.record.bucket = BucketNumber{4'000'000'000U}; });
    expect_refused();
    send_changed([](AdmittedBatch& batch) { batch.series[0].row_count = 0xffff'ffffU; });
    expect_refused();
    send_changed([](AdmittedBatch& batch) { batch.series[0].row_count = limits::kBatchRowsMax; });
    expect_refused();
    send_changed([](AdmittedBatch& batch) { batch.series[0].series.event = EventNumber{200}; });
    expect_refused();
    send_changed([](AdmittedBatch& batch) { batch.record.counts.resize(100'000); });
    expect_refused();
    // It has dropped all of them, so the session isn't stuck.
    AdmittedBatch sound = batch_of(kOtherSession, ++seq);
    sound.record.oldest_retained_seq = seq;
    hostile.send(sample::batch(sound));
    hostile.wait_for_prefix(seq);
    // A seq at the end of the world, and a Bye that names it.
    hostile.send(sample::batch(batch_of(kOtherSession, ~0ULL)));
    hostile.send(sample::bye(kOtherSession, {Seq{~0ULL}, {}, {}, {}}));
    while (!HasFailure() && !hostile.wait_for(sample::ReplyType::kAck).finished) {
    }
}

TEST_F(HostilePeer, MayTakeEverythingAsDropped) {
    SamplePeer hostile{gateway_.listen()};
    hostile.send(sample::hello(sample_session(kTarget, kOtherSession), Seq{~0ULL}));
    EXPECT_EQ(hostile.wait_for(sample::ReplyType::kWelcome).session, kOtherSession);
    hostile.wait_for_prefix(~0ULL - 1);
}

TEST_F(HostilePeer, MaySayHelloWithoutEnd) {
    SamplePeer hostile{gateway_.listen()};
    for (std::uint64_t i = 0;
         i < 3'000 && hostile.send_unless_cut(sample::hello(sample_session(TargetId{i}, SessionId{}))); ++i) {
    }
    SamplePeer other{gateway_.listen()};
    EXPECT_FALSE(other.greet(sample_session(TargetId{1}, SessionId{})).session.is_none());
}

TEST_F(HostilePeer, MaySendTooMuchOrInParts) {
    void* context = zmq_ctx_new();
    for (const bool in_parts : {false, true}) {
        void* dealer = zmq_socket(context, ZMQ_DEALER);
        const int linger_ms = 0;
        zmq_setsockopt(dealer, ZMQ_LINGER, &linger_ms, sizeof linger_ms);
        ASSERT_EQ(zmq_connect(dealer, gateway_.listen().c_str()), 0);
        if (in_parts) {
            for (int part = 0; part < 1'000; ++part) {
                zmq_send(dealer, "part", 4, part < 999 ? ZMQ_SNDMORE : 0);
            }
            // The gateway closes the connection, and what was sent after the parts may be lost with it.
            const int timeout_ms = 500;
            zmq_setsockopt(dealer, ZMQ_RCVTIMEO, &timeout_ms, sizeof timeout_ms);
            const sample::Frame probe = sample::probe();
            std::byte reply[limits::kReplySizeBytesMax];
            int reply_size = -1;
            for (int attempt = 0; attempt < 100 && reply_size < 0; ++attempt) {
                zmq_send(dealer, probe.data(), probe.size(), 0);
                reply_size = zmq_recv(dealer, reply, sizeof reply, 0);
            }
            EXPECT_GT(reply_size, 0);
        } else {
            const std::vector<std::byte> large(2 * limits::kBatchSizeBytesMax);
            zmq_send(dealer, large.data(), large.size(), 0);
            expect_good_peer_is_served();
        }
        zmq_close(dealer);
    }
    zmq_ctx_term(context);
}

}  // namespace
}  // namespace perfleet::end_to_end::hostile_peer_test
