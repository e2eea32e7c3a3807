// Collectors that are killed again and again over a network that loses, doubles and breaks, for many seeds: the
// next one delivers the rest, and the killed session's ledger is exact to the last row.
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <optional>

#include "target-collector/spool/orphan_session.h"
#include "target-collector/spool/testing/spool_fixture.h"
#include "target-collector/wire/testing/delivery_simulation.h"

namespace perfleet::spool_simulation_test {
namespace {

using namespace simulation;
using namespace spool_test;

struct Killed {};

// Throws in the middle of a delivery's step.
class DeadlyNetwork final : public NetworkDriver {
public:
    explicit DeadlyNetwork(Network& network) : network_{network} {}
    bool send(std::span<const std::byte> frame) override {
        count_down();
        const bool is_sent = network_.send(frame);
        count_down();
        return is_sent;
    }
    Checked<std::size_t> receive(std::span<std::byte> into) override {
        count_down();
        return network_.receive(into);
    }
    bool reconnected() override { return network_.reconnected(); }

    std::uint64_t steps_to_live = std::numeric_limits<std::uint64_t>::max();

private:
    void count_down() {
        if (steps_to_live-- == 0) {
            throw Killed{};
        }
    }

    Network& network_;
};

struct Reached {
    std::uint64_t dropped = 0;
    std::uint64_t refused = 0;
    std::uint64_t killed_rows = 0;
    std::uint64_t kills = 0;
    std::uint64_t finished_sources = 0;
};

class Simulation {
public:
    explicit Simulation(std::uint64_t seed) : chance_(seed), is_roomy_{seed % 3 == 0} {}

    Reached run() {
        run_source();
        die();
        while (!deliver_rest()) {
            die();
        }
        EXPECT_TRUE(gateway_.bye != nullptr);
        if (gateway_.bye != nullptr) {
            check(gateway_, produced_, last_status_);
            reached_.dropped = gateway_.bye->entry(kSamples, CountName::kLostSpoolFull);
            reached_.refused = gateway_.bye->entry(kSamples, CountName::kLostRefused);
            reached_.killed_rows = gateway_.bye->entry(kSamples, CountName::kLostKilled);
        }
        EXPECT_TRUE(open_folder(folder_.path(), size_bytes())->orphans().empty());
        return reached_;
    }

private:
    [[nodiscard]] std::size_t size_bytes() const { return is_roomy_ ? 1U << 20 : 48'000U; }

    void die() {
        ++reached_.kills;
        network_.break_down();
        gateway_.forget_peer();
    }

    void disturb() {
        if (!network_.is_up && chance_.one_in(8)) {
            network_.come_back();
        } else if (chance_.one_in(60)) {
            network_.break_down();
            gateway_.forget_peer();
        } else if (chance_.one_in(100)) {
            gateway_.crash();
        }
    }
    void serve() {
        if (network_.is_calm || chance_.one_in(2)) {
            gateway_.take_all();
        }
        if (network_.is_calm || chance_.one_in(3)) {
            gateway_.commit();
        }
    }

    void append_rows(Sealer& sealer) {
        for (std::uint64_t rows = chance_.below(is_roomy_ ? 100 : 300); rows > 0; --rows) {
            if (chance_.one_in(10)) {
                const std::uint64_t stack[] = {++next_stack_, 0, 0, 0x1000};
                sealer.append({kStacks, Ticks{now_ns_}, stack});
                ++produced_.rows[kStacks];
            } else {
                const std::uint64_t sample[] = {chance_.below(1 << 20), 1, chance_.below(1 << 30), 1, 1};
                sealer.append({kSamples, Ticks{now_ns_}, sample});
                ++produced_.rows[kSamples];
            }
        }
        if (chance_.one_in(20)) {
            sealer.count_lost(kSamples, CountName::kLostKernelRing, 3);
            produced_.kernel_losses += 3;
        }
        sealer.tick(Ticks{now_ns_}, kUtc);
        if (sealer.epoch_is_over()) {
            sealer.begin_epoch(Ticks{now_ns_}, kUtc);
            next_stack_ = 0;
        }
    }

    void run_source() {
        const auto folder = open_folder(folder_.path(), size_bytes());
        SpoolingCollector collector(*folder, kSession, deadly_);
        collector.sealer->begin_epoch(Ticks{now_ns_}, kUtc);
        deadly_.steps_to_live = chance_.one_in(3) ? ~0ULL : chance_.below(6'000);
        try {
            for (std::uint64_t turns = 1 + chance_.below(400); turns > 0; --turns) {
                append_rows(*collector.sealer);
                now_ns_ += chance_.below(200) * kMs;
                disturb();
                for (std::uint64_t steps = chance_.below(4); steps > 0; --steps) {
                    collector.delivery->step(now_ns_);
                }
                serve();
            }
            if (chance_.one_in(2)) {
                for (int i = 0; i < 100; ++i) {
                    reached_.finished_sources += collector.sealer->finish({Ticks{now_ns_}, kUtc, 1}) && i == 0 ? 1 : 0;
                    collector.delivery->step(now_ns_);
                    serve();
                }
            }
        } catch (const Killed&) {
        }
    }

    // True when the session was delivered to its end.
    bool deliver_rest() {
        // Once in a while there is less room than before.
        const auto folder = open_folder(folder_.path(), chance_.one_in(4) ? size_bytes() / 2 : size_bytes());
        EXPECT_EQ(folder->orphans().size(), 1U);
        if (folder->orphans().empty()) {
            return true;
        }
        const bool is_last = reached_.kills > 4;
        deadly_.steps_to_live = is_last ? ~0ULL : chance_.below(100);
        auto opened = OrphanSession::open(folder->orphans().front(), deadly_);
        EXPECT_TRUE(opened.ok());
        Delivery& delivery = (*opened)->delivery();
        EXPECT_TRUE((*opened)->reading().holes.empty());
        network_.is_calm = is_last;
        network_.come_back();
        try {
            for (int turn = 0; turn < 5'000 && !delivery.status().finished; ++turn) {
                now_ns_ += chance_.below(200) * kMs;
                if (!is_last) {
                    disturb();
                }
                delivery.step(now_ns_);
                serve();
            }
        } catch (const Killed&) {
            return false;
        }
        EXPECT_TRUE(delivery.status().finished);
        last_status_ = delivery.status();
        EXPECT_TRUE((*opened)->file().remove().ok());
        return true;
    }

    static constexpr UtcNs kUtc{1'700'000'000 * kNsPerSecond};

    Chance chance_;
    bool is_roomy_;
    TemporaryFolder folder_;
    Network network_{chance_};
    DeadlyNetwork deadly_{network_};
    Gateway gateway_{network_, chance_};
    Produced produced_;
    Delivery::Status last_status_;
    Reached reached_;
    std::uint64_t now_ns_ = 1;
    std::uint64_t next_stack_ = 0;
};

TEST(SpoolSimulation, AKilledSessionIsExactToTheLastRow) {
    Reached all;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        const Reached reached = Simulation{seed}.run();
        ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
        all.dropped += reached.dropped;
        all.refused += reached.refused;
        all.killed_rows += reached.killed_rows;
        all.kills += reached.kills;
        all.finished_sources += reached.finished_sources;
    }
    // Else the runs would have shown less than they should.
    EXPECT_GT(all.dropped, 1'000U);
    EXPECT_GT(all.refused, 100U);
    EXPECT_GT(all.killed_rows, 1'000U);
    EXPECT_GT(all.kills, 300U);
    EXPECT_GT(all.finished_sources, 10U);
}

}  // namespace
}  // namespace perfleet::spool_simulation_test
