// The whole way from rows to a gateway and back over a network that loses, doubles and breaks, for many seeds: every
// batch is stored, refused or named as dropped, and the counts add up to the last row.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "target-collector/message/batch_builder.h"
#include "target-collector/message/hello.h"
#include "target-collector/message/sealer.h"
#include "target-collector/wire/delivery.h"
#include "target-collector/wire/testing/delivery_simulation.h"

namespace perfleet::delivery_simulation_test {
namespace {

using namespace simulation;

class Collector {
public:
    Collector(NetworkDriver& driver, std::size_t ring_size_bytes, std::size_t spool_size_bytes)
        : batch_memory_(ring_size_bytes / 8),
          loss_memory_(kLossReportRingSizeBytes / 8),
          values_(BatchBuilder::values_count(200, 14, 8)),
          bytes_(1 << 12),
          spool_(spool_size_bytes / 8),
          hello_(4'096),
          batches_(std::as_writable_bytes(std::span{batch_memory_})),
          losses_(std::as_writable_bytes(std::span{loss_memory_})),
          builder_(std::make_unique<BatchBuilder>(values_, bytes_, 200)),
          counts_(std::make_unique<SessionCounts>()),
          sealer(std::make_unique<Sealer>(Sealer::Options{kSession, 100, 1'000 * kMs}, *builder_, *counts_, batches_,
                                          losses_)) {
        HelloDescription hello;
        hello.session = kSession;
        hello.target_name = "simulated";
        hello_.resize(*write_hello(hello, hello_));
        Delivery::Options options;
        options.session = kSession;
        options.hello = hello_;
        options.spool = std::as_writable_bytes(std::span{spool_});
        delivery = std::make_unique<Delivery>(options, driver, batches_, losses_);
    }

private:
    std::vector<std::uint64_t> batch_memory_;
    std::vector<std::uint64_t> loss_memory_;
    std::vector<std::uint64_t> values_;
    std::vector<std::byte> bytes_;
    std::vector<std::uint64_t> spool_;
    std::vector<std::byte> hello_;
    SpscRing batches_;
    SpscRing losses_;
    std::unique_ptr<BatchBuilder> builder_;
    std::unique_ptr<SessionCounts> counts_;

public:
    std::unique_ptr<Sealer> sealer;
    std::unique_ptr<Delivery> delivery;
};

struct Reached {
    std::uint64_t dropped = 0;
    std::uint64_t resent = 0;
    std::uint64_t refused = 0;
    std::uint64_t ring_full = 0;
    std::uint64_t epochs = 0;
};

Reached simulate(std::uint64_t seed) {
    Chance chance(seed);
    Network network(chance, seed % 2 == 0);
    Gateway gateway(network, chance);
    const bool is_roomy = seed % 3 == 0;
    const std::size_t ring_size_bytes = is_roomy ? 1U << 20 : kBatchRingSizeBytesMin;
    Collector collector(network, ring_size_bytes, is_roomy ? 1U << 20 : 40'000U);
    Sealer& sealer = *collector.sealer;
    Delivery& delivery = *collector.delivery;
    Produced produced;
    std::uint64_t now_ns = 1;
    std::uint64_t next_stack = 0;
    std::uint64_t stalled_turns = 0;
    const UtcNs utc{1'700'000'000 * kNsPerSecond};
    sealer.begin_epoch(Ticks{now_ns}, utc);

    const auto turn = [&] {
        now_ns += chance.below(200) * kMs;
        if (!network.is_calm) {
            if (!network.is_up && chance.one_in(8)) {
                network.come_back();
            } else if (chance.one_in(60)) {
                network.break_down();
                gateway.forget_peer();  // the next connection is another peer
            } else if (chance.one_in(100)) {
                gateway.crash();
            } else if (chance.one_in(100)) {
                gateway.forget_peer();
            }
        }
        // Now and then the wire's thread gets no processor for long: the ring fills.
        stalled_turns += !network.is_calm && chance.one_in(80) ? chance.below(60) : 0;
        stalled_turns -= stalled_turns > 0 ? 1 : 0;
        for (std::uint64_t steps = stalled_turns > 0 ? 0 : chance.below(4); steps > 0; --steps) {
            delivery.step(now_ns);
            network.move();
        }
        if (network.is_calm || chance.one_in(2)) {
            gateway.take_all();
        }
        if (network.is_calm || chance.one_in(3)) {
            gateway.commit();
        }
    };

    for (int i = 0; i < 600; ++i) {
        for (std::uint64_t rows = chance.below(is_roomy ? 100 : 300); rows > 0; --rows) {
            if (chance.one_in(10)) {
                const std::uint64_t stack[] = {++next_stack, 0, 0, 0x1000};
                sealer.append({kStacks, Ticks{now_ns}, stack});
                ++produced.rows[kStacks];
            } else {
                const std::uint64_t sample[] = {chance.below(1 << 20), 1, chance.below(1 << 30), 1, 1};
                sealer.append({kSamples, Ticks{now_ns}, sample});
                ++produced.rows[kSamples];
            }
        }
        if (chance.one_in(20)) {
            sealer.count_lost(kSamples, CountName::kLostKernelRing, 3);
            produced.kernel_losses += 3;
        }
        sealer.tick(Ticks{now_ns}, utc);
        if (sealer.epoch_is_over()) {
            sealer.begin_epoch(Ticks{now_ns}, utc);
            next_stack = 0;
        }
        turn();
    }
    const ClockPoint end{Ticks{now_ns}, utc, 1};
    bool is_finished = false;
    for (int i = 0; i < 5'000 && !delivery.status().finished; ++i) {
        is_finished = is_finished || sealer.finish(end);
        if (i == 200) {
            network.is_calm = true;
            network.break_down();
            gateway.forget_peer();
            network.come_back();
        }
        if (i == 1'000 && seed % 5 == 0) {
            delivery.give_up();
        }
        turn();
        sealer.tick(Ticks{now_ns}, utc);
    }
    EXPECT_TRUE(delivery.status().finished);
    EXPECT_TRUE(gateway.bye != nullptr);
    if (gateway.bye != nullptr) {
        check(gateway, produced, delivery.status());
    }
    const auto& status = delivery.status();
    return {status.batches_dropped, status.batches_resent, status.batches_refused,
            gateway.bye == nullptr ? 0 : gateway.bye->entry(kSamples, CountName::kLostRingFull), sealer.epoch().value};
}

TEST(DeliverySimulation, EveryRowIsStoredOrItsLossIsCounted) {
    Reached all;
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
        const Reached reached = simulate(seed);
        ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
        all.dropped += reached.dropped;
        all.resent += reached.resent;
        all.refused += reached.refused;
        all.ring_full += reached.ring_full;
        all.epochs += reached.epochs;
    }
    // Else the runs would have shown less than they should.
    EXPECT_GT(all.dropped, 1'000U);
    EXPECT_GT(all.resent, 1'000U);
    EXPECT_GT(all.refused, 100U);
    EXPECT_GT(all.ring_full, 100U);
    EXPECT_GT(all.epochs, 100U);
}

}  // namespace
}  // namespace perfleet::delivery_simulation_test
