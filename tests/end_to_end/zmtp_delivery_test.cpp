// A whole collector without libzmq, as on a target without an operating system, and the real gateway, which is killed
// in the middle again and again.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <memory>

#include "target-collector/small/small_collector.h"
#include "target-collector/wire/held_address_test.h"
#include "target-collector/wire/socket_stream_test.h"
#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/stored_ledger.h"

namespace perfleet::end_to_end {
namespace {

constexpr Series kSamples{Kind::kSample, EventNumber{0}};
constexpr SessionId kSession{0x5a, 0x31};
constexpr UtcNs kUtc{1'700'000'000 * kNsPerSecond};

Ticks now() {
    return Ticks{
        static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds{1})};
}

constexpr EventDescription kTimer{.name = "timer", .period = 1'000'000, .unit = "ns"};
constexpr SmallThread kThread{7, "main"};
constexpr SmallImage kImage{"/small.elf", {}, 0x1000, 0x1000};

SmallTarget small_target() {
    SmallTarget target;
    target.target = TargetId{77};
    target.name = "small";
    target.architecture = "aarch64";
    target.session = kSession;
    target.clock = {.name = "steady", .ticks_per_second = kNsPerSecond};
    target.start_point = {now(), kUtc, 0};
    target.events = {&kTimer, 1};
    target.images = {&kImage, 1};
    target.threads = {&kThread, 1};
    return target;
}

// Samples as fast as it goes.
class Sampled {
public:
    explicit Sampled(ByteStream& stream) : collector{std::make_unique<SmallCollector>(target_, stream)} {}

    void sample() {
        // One frame in nowhere, and more chains than one epoch has room for.
        const std::uint64_t addresses[] = {0x1000 + rows % 0xfff, 0x9000, 0x1800};
        collector->sample({EventNumber{0}, now(), 0, kThread.tid, 1'000'000, addresses});
        ++rows;
    }
    void run_until(const std::function<bool()>& is_done) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{kPatienceS};
        while (!is_done()) {
            ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "nothing happened for long";
            collector->step(now());
        }
    }

private:
    SmallTarget target_ = small_target();

public:
    std::unique_ptr<SmallCollector> collector;
    std::uint64_t rows = 0;
};

TEST(ZmtpDelivery, StoresEachRowOnceThoughTheGatewayIsKilledAgainAndAgain) {
    const TemporaryFolder folder;
    const HeldAddress address;
    SocketStream stream{address.endpoint()};
    stream.piece_bytes_max = 3'000;  // so that frames are under way when it happens
    stream.stutters = true;
    Sampled sampled{stream};
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
    collector.finish();
    sampled.run_until([&] { return collector.is_finished(); });
    EXPECT_EQ(collector.status().gateway_changes, kGateways);
    EXPECT_GE(collector.connection_counts().handshakes, kGateways + 1);
    EXPECT_EQ(collector.connection_counts().connections_ended, 0U);
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    const auto ledgers = ledgers_of(folder / "data");
    ASSERT_EQ(ledgers.size(), 1U);
    ledgers.front().expect_exact();
    EXPECT_EQ(ledgers.front().series.at(kSamples).produced, sampled.rows);
    EXPECT_GT(ledgers.front().seqs.size(), 20U * kGateways);
}

}  // namespace
}  // namespace perfleet::end_to_end
