#include "target-collector/pmu/pmu.h"

#include <gtest/gtest.h>

namespace perfleet::bare_metal::pmu {
namespace {

// As the thesis on profiling seL4 lists them for a Cortex-A15 with its six counters.
TEST(Pmu, BitsAreThoseOfTheManual) {
    EXPECT_EQ(kEnable | kResetCounters | kResetCycleCounter, 0x7U);
    EXPECT_EQ(kEvery64thCycle | kExportEvents | kNotWhereProhibited, 0x38U);
    EXPECT_EQ(kCycleCounter | counter_bits(6), 0x8000'003fU);
    EXPECT_EQ(counter_count(0x410f'3000), 6U);
    EXPECT_EQ(counter_count(0x410f'3000 | kEnable | kLongCycleCounter), 6U);
}

TEST(Pmu, ACounterOverflowsWithTheLastEventOfItsPeriod) {
    EXPECT_EQ(overflow_start(32, 10'000), 0xffff'd8f0U);
    EXPECT_EQ(overflow_start(64, 10'000), 0xffff'ffff'ffff'd8f0U);
    for (const unsigned width : {8U, 32U, 48U, 63U, 64U}) {
        const std::uint64_t last = ~0ULL >> (64 - width);
        for (const std::uint64_t period : {std::uint64_t{1}, std::uint64_t{200}, last}) {
            SCOPED_TRACE(std::to_string(width) + " bits, " + std::to_string(period));
            const std::uint64_t start = overflow_start(width, period);
            EXPECT_LE(start, last);
            EXPECT_EQ(start + (period - 1), last) << "one event before the last of the period";
        }
    }
}

}  // namespace
}  // namespace perfleet::bare_metal::pmu
