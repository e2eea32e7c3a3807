#include "target-collector/sel4/run/cycle_rate.h"

#include <gtest/gtest.h>

namespace perfleet::sel4 {
namespace {

// A processor of 16 cycles a tick of the clock, which a host takes away once in a while, for longer than is measured.
class TakenProcessor {
public:
    explicit TakenProcessor(int taken_at) : taken_at_{taken_at} {}

    std::uint64_t clock_now() { return step(); }
    Ticks cycles_now() { return Ticks{step() * kCyclesPerTick}; }

    static constexpr std::uint64_t kCyclesPerTick = 16;

private:
    std::uint64_t step() {
        constexpr int kReadsBetween = 13;
        constexpr std::uint64_t kTakenTicks = 5'000;
        time_ += ++reads_ % kReadsBetween == taken_at_ ? kTakenTicks : 1;
        return time_;
    }

    int taken_at_;
    int reads_ = 0;
    std::uint64_t time_ = 0;
};

TEST(CycleRate, IsRightWhereAHostTakesTheProcessorAwayBetweenTwoReads) {
    constexpr std::uint64_t kClockPerSecond = 62'500'000;
    for (int taken_at = 0; taken_at < 13; ++taken_at) {
        TakenProcessor processor{taken_at};
        const CycleRate rate = measure_cycle_rate([&] { return processor.clock_now(); },
                                                  [&] { return processor.cycles_now(); }, kClockPerSecond, 2'000);
        EXPECT_EQ(rate.per_second, kClockPerSecond * TakenProcessor::kCyclesPerTick) << taken_at;
        EXPECT_EQ(rate.measured.cycles.value, rate.measured.clock * TakenProcessor::kCyclesPerTick) << taken_at;
    }
}

}  // namespace
}  // namespace perfleet::sel4
