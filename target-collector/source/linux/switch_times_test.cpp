#include "target-collector/source/linux/switch_times.h"

#include <gtest/gtest.h>

namespace perfleet {
namespace switch_times_test {

constexpr std::uint64_t kPeriodNs = 1'000'000;

// Weights of all rows of a thread that is away so long so often.
SwitchTimes::Back sum_of(SwitchTimes& times, std::uint32_t tid, int count, std::uint64_t away_ns, bool is_preempted) {
    SwitchTimes::Back sum;
    std::uint64_t time_ns = 0;
    for (int i = 0; i < count; ++i) {
        EXPECT_TRUE(times.leave(tid, {time_ns, StackNumber{7}, 3}));
        if (is_preempted) {
            times.note_preempted(tid);
        }
        time_ns += away_ns;
        if (const auto back = times.come(tid, time_ns)) {
            EXPECT_EQ(back->left.stack, StackNumber{7});
            EXPECT_EQ(back->left.epoch, 3U);
            sum.blocked_ns += back->blocked_ns;
            sum.runnable_ns += back->runnable_ns;
        }
        time_ns += 10;
    }
    return sum;
}

TEST(SwitchTimes, WeightsSumToTheTime) {
    SwitchTimes times{kPeriodNs};
    for (const std::uint64_t away_ns : {std::uint64_t{20'000}, kPeriodNs, 50 * kPeriodNs}) {
        const auto tid = static_cast<std::uint32_t>(away_ns);
        const auto blocked = sum_of(times, tid, 1'000, away_ns, false);
        EXPECT_EQ(blocked.runnable_ns, 0U);
        EXPECT_NEAR(static_cast<double>(blocked.blocked_ns), 1'000. * static_cast<double>(away_ns), 3. * kPeriodNs);
        const auto preempted = sum_of(times, tid + 1, 1'000, away_ns, true);
        EXPECT_EQ(preempted.blocked_ns, 0U);
        EXPECT_NEAR(static_cast<double>(preempted.runnable_ns), 1'000. * static_cast<double>(away_ns), 3. * kPeriodNs);
    }
}

TEST(SwitchTimes, KnowsOnlyThreadsThatItSawLeave) {
    SwitchTimes times{kPeriodNs};
    EXPECT_FALSE(times.come(1, 100 * kPeriodNs));
    ASSERT_TRUE(times.leave(1, {0, StackNumber{1}, 0}));
    EXPECT_TRUE(times.come(1, 100 * kPeriodNs));
    EXPECT_FALSE(times.come(1, 200 * kPeriodNs)) << "it has been back";
    ASSERT_TRUE(times.leave(1, {0, StackNumber{1}, 0}));
    times.forget(1);
    EXPECT_FALSE(times.come(1, 300 * kPeriodNs));
    for (std::uint32_t tid = 0; tid < SwitchTimes::kThreadsMax; ++tid) {
        ASSERT_TRUE(times.leave(tid, {}));
    }
    EXPECT_FALSE(times.leave(SwitchTimes::kThreadsMax, {}));
    EXPECT_TRUE(times.leave(0, {})) << "known";
}

}  // namespace switch_times_test
}  // namespace perfleet
