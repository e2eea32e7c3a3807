#include "target-collector/linux/host/cpu_budget.h"

#include <gtest/gtest.h>

namespace perfleet {
namespace {

constexpr std::uint64_t kInterval = CpuBudget::kEveryNs;

// A collector that uses so much of a core at its full rate, and so much however little it samples.
struct Simulated {
    double sampled_share;
    double fixed_share;
    std::uint64_t now_ns = 0;
    std::uint64_t used_ns = 0;

    std::optional<double> step(CpuBudget& budget) {
        now_ns += kInterval;
        const double share = (sampled_share * budget.scale()) + fixed_share;
        used_ns += static_cast<std::uint64_t>(share * static_cast<double>(kInterval));
        return budget.update(now_ns, used_ns);
    }
};

TEST(CpuBudget, WithinItNothingChanges) {
    CpuBudget budget{1, 0, 0};
    Simulated collector{0.008, 0.001};
    for (int i = 0; i < 10; ++i) {
        EXPECT_FALSE(collector.step(budget));
    }
    EXPECT_EQ(budget.scale(), 1);
}

TEST(CpuBudget, AboveItTheFrequencyFallsUntilItIsKept) {
    CpuBudget budget{1, 0, 0};
    Simulated collector{0.08, 0.002};
    EXPECT_TRUE(collector.step(budget));
    for (int i = 0; i < 5; ++i) {
        (void)collector.step(budget);
    }
    EXPECT_LE(budget.used_share(), 0.01);
    const double steady = budget.scale();
    EXPECT_GT(steady, 0.05);
    for (int i = 0; i < 20; ++i) {
        EXPECT_FALSE(collector.step(budget)) << "it doesn't go up and down";
    }
}

TEST(CpuBudget, WhenTheLoadIsGoneItRisesAgainToAllOfIt) {
    CpuBudget budget{1, 0, 0};
    Simulated collector{0.5, 0};
    for (int i = 0; i < 5; ++i) {
        (void)collector.step(budget);
    }
    EXPECT_LT(budget.scale(), 0.03);
    collector.sampled_share = 0.003;
    int steps = 0;
    for (; budget.scale() < 1 && steps < 20; ++steps) {
        (void)collector.step(budget);
    }
    EXPECT_EQ(budget.scale(), 1);
    EXPECT_GT(steps, 2) << "not at once";
    EXPECT_LT(steps, 10);
}

TEST(CpuBudget, TooMuchWithoutAnySampleLowersItToTheLeast) {
    CpuBudget budget{1, 0, 0};
    Simulated collector{0, 0.1};
    for (int i = 0; i < 10; ++i) {
        (void)collector.step(budget);
    }
    EXPECT_GT(budget.scale(), 0);
    EXPECT_FALSE(collector.step(budget));
    EXPECT_FALSE(budget.update(collector.now_ns + 1, collector.used_ns)) << "too early";
}

}  // namespace
}  // namespace perfleet
