// A whole collector without libzmq, as on a target without an operating system, and the real gateway, which is killed
// in the middle again and again.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "target-collector/message/batch_builder.h"
#include "target-collector/message/hello.h"
#include "target-collector/message/sealer.h"
#include "target-collector/wire/delivery.h"
#include "target-collector/wire/held_address_test.h"
#include "target-collector/wire/socket_stream_test.h"
#include "target-collector/wire/zmtp_driver.h"
#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/stored_ledger.h"

namespace perfleet::end_to_end {
namespace {

constexpr Series kSamples{Kind::kSample, EventNumber{0}};
constexpr SessionId kSession{0x5a, 0x31};
constexpr std::uint32_t kBatchRows = 500;
constexpr UtcNs kUtc{1'700'000'000 * kNsPerSecond};

std::uint64_t now_ns() {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                      std::chrono::nanoseconds{1});
}

class SmallCollector {
public:
    explicit SmallCollector(ByteStream& stream)
        : driver{stream},
          batch_memory_((256U << 10) / 8),
          loss_memory_(kLossNoticeRingSizeBytes / 8),
          values_(BatchBuilder::values_count(kBatchRows, 14, 8)),
          bytes_(1 << 12),
          spool_((256U << 10) / 8),
          hello_(4'096),
          batches_{std::as_writable_bytes(std::span{batch_memory_})},
          losses_{std::as_writable_bytes(std::span{loss_memory_})},
          builder_{values_, bytes_, kBatchRows},
          sealer{{kSession, kBatchRows, 1'000'000'000}, builder_, tallies_, batches_, losses_} {
        const EventDescription event{.name = "timer", .period = 1'000'000};
        HelloDescription hello;
        hello.session = kSession;
        hello.target = TargetId{77};
        hello.target_name = "small";
        hello.architecture = "aarch64";
        hello.events = {&event, 1};
        hello.clock = {.name = "cntvct", .ticks_per_second = kNsPerSecond, .linux_clockid = -1};
        hello.start_point = {Ticks{1}, kUtc, 0};
        hello_.resize(*write_hello(hello, hello_));
        Delivery::Options options;
        options.session = kSession;
        options.hello = hello_;
        options.spool = std::as_writable_bytes(std::span{spool_});
        delivery = std::make_unique<Delivery>(options, driver, batches_, losses_);
        sealer.begin_epoch(Ticks{1}, kUtc);
    }

    void append() {
        const std::uint64_t row[] = {++rows, 0, 1, 1, 0, 1'000'000};
        sealer.append(kSamples, Ticks{rows}, row);
    }
    void step() {
        driver.tick(now_ns());
        if (!delivery->step(now_ns())) {
            std::this_thread::yield();
        }
        sealer.tick(Ticks{rows}, kUtc);
    }

    ZmtpDriver driver;
    std::uint64_t rows = 0;

private:
    std::vector<std::uint64_t> batch_memory_;
    std::vector<std::uint64_t> loss_memory_;
    std::vector<std::uint64_t> values_;
    std::vector<std::byte> bytes_;
    std::vector<std::uint64_t> spool_;
    std::vector<std::byte> hello_;
    SpscRing batches_;
    SpscRing losses_;
    BatchBuilder builder_;
    TallyBook tallies_;

public:
    Sealer sealer;
    std::unique_ptr<Delivery> delivery;
};

void run_until(const std::function<bool()>& is_done, SmallCollector& collector) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{kPatienceS};
    while (!is_done()) {
        ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "nothing happened for long";
        collector.step();
    }
}

TEST(ZmtpDelivery, StoresEachRowOnceThoughTheGatewayIsKilledAgainAndAgain) {
    const TemporaryFolder folder;
    const HeldAddress address;
    SocketStream stream{address.endpoint()};
    stream.piece_bytes_max = 3'000;  // so that frames are under way when it happens
    stream.stutters = true;
    SmallCollector collector{stream};
    constexpr int kGateways = 5;
    for (int i = 0; i < kGateways; ++i) {
        GatewayProgram gateway{folder / "data", address.endpoint()};
        const std::uint64_t before = collector.delivery->status().batches_acknowledged;
        run_until(
            [&] {
                collector.append();
                return collector.delivery->status().batches_acknowledged >= before + 20 &&
                       !collector.driver.borrowed().empty();
            },
            collector);
        gateway.end(SIGKILL);
    }
    GatewayProgram gateway{folder / "data", address.endpoint()};
    bool is_finished = false;
    run_until(
        [&] {
            is_finished = is_finished || collector.sealer.finish({Ticks{collector.rows}, kUtc, 1});
            return collector.delivery->status().finished;
        },
        collector);
    EXPECT_EQ(collector.delivery->status().gateway_changes, kGateways);
    EXPECT_EQ(collector.driver.counts().handshakes, kGateways + 1);
    EXPECT_EQ(collector.driver.counts().connections_ended, 0U);
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    const auto ledgers = ledgers_of(folder / "data");
    ASSERT_EQ(ledgers.size(), 1U);
    ledgers.front().expect_exact();
    EXPECT_EQ(ledgers.front().series.at(kSamples).produced, collector.rows);
    EXPECT_GT(ledgers.front().seqs.size(), 20U * kGateways);
}

}  // namespace
}  // namespace perfleet::end_to_end
