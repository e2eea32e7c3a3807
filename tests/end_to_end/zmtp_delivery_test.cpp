// A whole collector without libzmq, as on a target without an operating system, and the real gateway, which is killed
// in the middle again and again.
#include <gtest/gtest.h>

#include <csignal>
#include <map>
#include <memory>

#include "schemas/wire/protocol.h"
#include "target-collector/wire/testing/held_address.h"
#include "target-collector/wire/testing/socket_stream.h"
#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/sampled_target.h"
#include "tests/end_to_end/stored_ledger.h"

namespace perfleet::end_to_end::zmtp_delivery_test {
namespace {

constexpr SessionId kSession{0x5a, 0x31};

TEST(ZmtpDelivery, StoresEachRowOnceThoughTheGatewayIsKilledAgainAndAgain) {
    const TemporaryFolder folder;
    const HeldAddress address;
    SocketStream stream{address.endpoint()};
    stream.piece_bytes_max = 3'000;  // so that frames are under way when it happens
    stream.stutters = true;
    SampledTarget sampled{stream, small_target(kSession)};
    SmallCollector& collector = *sampled.collector;
    constexpr int kGateways = 5;
    for (int i = 0; i < kGateways; ++i) {
        GatewayProgram gateway{folder / "data", address.endpoint()};
        const std::uint64_t before = collector.status().batches_acknowledged;
        sampled.run_until([&] {
            sampled.sample();
            return collector.status().batches_acknowledged >= before + 20 && collector.status().batches_kept > 1;
        });
        gateway.end(SIGKILL);
    }
    GatewayProgram gateway{folder / "data", address.endpoint()};
    sampled.finish();
    EXPECT_EQ(collector.status().gateway_changes, kGateways);
    EXPECT_GE(sampled.driver.counts().handshakes, kGateways + 1);
    EXPECT_EQ(sampled.driver.counts().connections_ended, 0U);
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    const auto ledgers = ledgers_of(folder / "data");
    ASSERT_EQ(ledgers.size(), 1U);
    ledgers.front().expect_exact();
    EXPECT_EQ(ledgers.front().series.at(kSamples).produced, sampled.rows);
    EXPECT_GT(ledgers.front().seqs.size(), 20U * kGateways);
}

// Runs of a target that sends the same each time, as a deterministic image does.
class ZmtpDeliveryWithoutEntropy : public testing::Test {
protected:
    // Some batches, a gateway that is killed in the middle, and the end. Returns the session's id.
    SessionId run(std::uint64_t& rows) {
        auto gateway = std::make_unique<GatewayProgram>(folder_ / "data", address_.endpoint());
        SocketStream stream{address_.endpoint()};
        SampledTarget sampled{stream, target_};
        SmallCollector& collector = *sampled.collector;
        sampled.sample_until_acknowledged(3);
        const SessionId session = collector.status().session;
        gateway->end(SIGKILL);
        gateway = std::make_unique<GatewayProgram>(folder_ / "data", address_.endpoint());
        sampled.sample_until_acknowledged(3);
        sampled.finish();
        EXPECT_EQ(collector.status().session, session);
        status_ = collector.status();
        EXPECT_EQ(gateway->end(SIGTERM).status, 0);
        rows = sampled.rows;
        return session;
    }

    const TemporaryFolder folder_;
    const HeldAddress address_;
    SmallTarget target_ = small_target(SessionId{});
    Delivery::Status status_;
};

TEST_F(ZmtpDeliveryWithoutEntropy, EachRunIsASessionThatTheGatewayGrants) {
    std::map<SessionId, std::uint64_t> rows;
    for (std::size_t i = 1; i <= 2; ++i) {
        std::uint64_t rows_of_run = 0;
        const SessionId session = run(rows_of_run);
        EXPECT_FALSE(session.is_none());
        rows[session] = rows_of_run;
        const auto ledgers = ledgers_of(folder_ / "data");
        ASSERT_EQ(ledgers.size(), i);
        for (const StoredLedger& ledger : ledgers) {
            ledger.expect_exact();
            EXPECT_EQ(ledger.series.at(kSamples).produced, rows.at(ledger.session.session));
        }
    }
}

TEST_F(ZmtpDeliveryWithoutEntropy, ARunThatKeptTheSessionOfOneBeforeIsRefused) {
    std::uint64_t rows = 0;
    target_.session = run(rows);
    const auto before = ledgers_of(folder_ / "data");
    GatewayProgram gateway{folder_ / "data", address_.endpoint()};
    SocketStream stream{address_.endpoint()};
    SampledTarget again{stream, target_};
    again.run_until([&] {
        again.sample();
        return again.collector->is_finished();
    });
    EXPECT_TRUE(again.collector->status().session_refused);
    EXPECT_EQ(again.collector->status().refused_reason, static_cast<std::uint16_t>(protocol::RefusedReason::kReplay));
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    const auto after = ledgers_of(folder_ / "data");
    ASSERT_EQ(after.size(), 1U);
    EXPECT_EQ(after.front().seqs, before.front().seqs);
}

}  // namespace
}  // namespace perfleet::end_to_end::zmtp_delivery_test
