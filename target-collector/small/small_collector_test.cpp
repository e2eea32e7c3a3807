#include "target-collector/small/small_collector.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <random>

#include "target-collector/small/tick_time.h"

namespace perfleet::small_collector_test {
namespace {

class NoGateway final : public NetworkDriver {
public:
    bool send(std::span<const std::byte> /*frame*/) override { return false; }
    Checked<std::size_t> receive(std::span<std::byte> /*into*/) override { return std::size_t{0}; }
    bool reconnected() override { return false; }
};

constexpr std::uint64_t kTicksPerSecond = 62'500'000;
constexpr EventDescription kTimer{.name = "timer", .period = 1'000'000, .unit = "ns"};
constexpr SmallThread kThreads[] = {{1, "one"}, {2, "two"}};
constexpr SmallImage kImage{"/image.elf", {}, 0x4020'0000, 0x20'0000};

// How many seconds without a gateway it takes until the first batch is dropped: one sample a ms of 16 frames, from so
// many different call chains.
std::uint64_t seconds_covered(std::uint64_t chain_count) {
    SmallTarget target;
    target.name = "outage";
    target.session = {1, 2};
    target.clock = {.name = "ticks", .ticks_per_second = kTicksPerSecond};
    target.start_point = {Ticks{1'000}, UtcNs{1'700'000'000 * kNsPerSecond}, 0};
    target.events = {&kTimer, 1};
    target.images = {&kImage, 1};
    target.threads = kThreads;
    NoGateway driver;
    const auto collector = std::make_unique<SmallCollector>(target, driver);
    std::mt19937_64 random{5};
    std::uint64_t samples = 0;
    Ticks now{1'000};
    while (collector->status().batches_dropped == 0 && samples < 1'000'000) {
        now.value += kTicksPerSecond / 2'000 + random() % (kTicksPerSecond / 1'000);  // jitter
        std::uint64_t addresses[16];
        const std::uint64_t chain = random() % chain_count;
        for (std::uint64_t depth = 0; depth < 16; ++depth) {
            // Eight frames that all share, then a path of its own for each chain.
            addresses[15 - depth] = kImage.address + depth * 0x100 + (depth < 8 ? 0 : chain * 0x1'000);
        }
        collector->sample({EventNumber{0}, now, 0, 1 + static_cast<std::uint32_t>(random() % 2), 1'000'000, addresses});
        collector->step(now);
        ++samples;
    }
    return samples / 1'000;
}

TEST(TickTime, IsExactAtAnyRate) {
    EXPECT_EQ(ns_of_ticks(62'500'000, 62'500'000), 1'000'000'000U);
    EXPECT_EQ(ns_of_ticks(62'500'001, 62'500'000), 1'000'000'016U);
    EXPECT_EQ(ns_of_ticks(32'767, 32'768), 999'969'482U);
    EXPECT_EQ(ns_of_ticks(3'600ULL * 24 * 365 * 3'000'000'000, 3'000'000'000), 3'600ULL * 24 * 365 * 1'000'000'000);
}

TEST(SmallCollector, KeepsWhatAnOutageOfTwentySecondsProduces) {
    const std::uint64_t seconds = seconds_covered(64);
    RecordProperty("seconds_covered", static_cast<int>(seconds));
    EXPECT_GE(seconds, 20U);
    EXPECT_LT(seconds, 1'000U) << "it is bounded";
}

TEST(SmallCollector, BeginsANewEpochWhenItsStacksAreFullAndGoesOn) { EXPECT_GT(seconds_covered(2'000), 0U); }

TEST(SmallCollector, MoreSeriesThanABatchHoldsCloseItEarlier) {
    std::array<EventDescription, 3 * SmallCollector::kSeriesMax> events{};
    events.fill(kTimer);
    SmallTarget target;
    target.name = "many";
    target.session = {1, 2};
    target.clock = {.name = "ticks", .ticks_per_second = kTicksPerSecond};
    target.start_point = {Ticks{1'000}, UtcNs{1'700'000'000 * kNsPerSecond}, 0};
    target.events = events;
    target.images = {&kImage, 1};
    target.threads = kThreads;
    NoGateway driver;
    const auto collector = std::make_unique<SmallCollector>(target, driver);
    const std::uint64_t address = kImage.address;
    for (std::uint64_t i = 0; i < 10 * events.size(); ++i) {
        const auto event = static_cast<std::uint16_t>(i % events.size());
        collector->sample({EventNumber{event}, Ticks{2'000 + i}, 0, 1, 1, {&address, 1}});
        collector->count_lost(EventNumber{event}, 1);  // more counts than the book can hold, too
        collector->step(Ticks{2'000 + i});
    }
    EXPECT_GE(collector->status().batches_kept, 10U * 3U - 1U);
    EXPECT_LE(collector->status().batches_kept, 10U * 5U) << "ten series go into one";
    EXPECT_EQ(collector->status().batches_dropped, 0U);
}

// All of the memory that PORTING.md states for a port.
TEST(SmallCollector, IsAsLargeAsItsPageSays) {
    EXPECT_LE(sizeof(SmallCollector), 260U << 10);
    EXPECT_GT(sizeof(SmallCollector), 255U << 10) << "PORTING.md could say less";
}

}  // namespace
}  // namespace perfleet::small_collector_test
