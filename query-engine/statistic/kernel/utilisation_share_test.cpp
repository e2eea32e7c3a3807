#include "query-engine/statistic/kernel/utilisation_share.h"

#include <gtest/gtest.h>

#include "query-engine/statistic/number/testing/utilisation_model.h"

namespace perfleet {
namespace {

using Cycles = std::vector<std::uint64_t>;

TEST(UtilisationShare, IsOfTheTotal) {
    const UtilisationShares shares = utilisation_shares(Cycles{300, 600}, 1'000);
    EXPECT_NEAR(static_cast<double>(*shares.threads[0] * 100), 30.00, 1e-12);
    EXPECT_NEAR(static_cast<double>(*shares.threads[1] * 100), 60.00, 1e-12);
    EXPECT_NEAR(static_cast<double>(*shares.rest * 100), 10.00, 1e-12);
    EXPECT_FALSE(shares.adds_up);
    EXPECT_TRUE(utilisation_shares(Cycles{250, 150}, 400).adds_up);
}

TEST(UtilisationShare, FaultsAreSaidAndNeverSummed) {
    const UtilisationShares underflow = utilisation_shares(Cycles{300, ~0ULL - 5}, 1'000);
    EXPECT_TRUE(underflow.has_underflow);
    EXPECT_TRUE(underflow.threads[0]);
    EXPECT_FALSE(underflow.threads[1]);
    EXPECT_FALSE(underflow.rest);
    const UtilisationShares too_much = utilisation_shares(Cycles{700, 600}, 1'000);
    EXPECT_TRUE(too_much.has_too_much);
    EXPECT_FALSE(too_much.rest);
    EXPECT_FALSE(utilisation_shares(Cycles{0}, 0).threads[0]);
}

TEST(UtilisationShare, ATotalOf32BitsThatWrappedIsToldFromOneThatIsWrong) {
    constexpr std::uint64_t kWrapped = 5'000'000'000 - (1ULL << 32);
    const UtilisationShares wrapped = utilisation_shares(Cycles{2'000'000'000, 3'000'000'000}, kWrapped);
    EXPECT_TRUE(wrapped.has_wrapped);
    EXPECT_TRUE(wrapped.has_too_much);
    EXPECT_FALSE(utilisation_shares(Cycles{2'000'000'001, 3'000'000'000}, kWrapped).has_wrapped);
    EXPECT_FALSE(utilisation_shares(Cycles{300, 600}, 900).has_wrapped);
    EXPECT_TRUE(is_underflow(widened(0xffff'fff0, 1'000)));
    EXPECT_EQ(widened(0xffff'fff0, 0xffff'ffff), 0xffff'fff0);
    EXPECT_EQ(widened(500, 400), 500U);
}

TEST(UtilisationReplay, AThreadGetsTheTimeFromSwitchToSwitch) {
    constexpr std::uint64_t kA = 1;
    constexpr std::uint64_t kB = 2;
    UtilisationReplay kernel{kA};
    kernel.reset_log(0);
    kernel.switch_to(kB, 100);
    kernel.switch_to(kA, 250);
    kernel.finalize_log(400);
    EXPECT_EQ(kernel.cycles(kA), 250U);
    EXPECT_EQ(kernel.cycles(kB), 150U);
    EXPECT_EQ(kernel.total_cycles(), 400U);
    EXPECT_TRUE(utilisation_shares(Cycles{kernel.cycles(kA), kernel.cycles(kB)}, kernel.total_cycles()).adds_up);
}

TEST(UtilisationReplay, ResetLogResetsIdleAndTotalsButNoOtherThread) {
    UtilisationReplay kernel{1};
    kernel.reset_thread(1);
    kernel.reset_log(1'000);
    kernel.switch_to(UtilisationReplay::kIdle, 1'300);
    kernel.switch_to(1, 1'500);
    kernel.finalize_log(1'600);
    EXPECT_EQ(kernel.cycles(1), 400U);
    EXPECT_EQ(kernel.cycles(UtilisationReplay::kIdle), 200U);
    kernel.reset_log(2'000);
    kernel.finalize_log(2'100);
    EXPECT_EQ(kernel.cycles(1), 500U) << "400 of the window before";
    EXPECT_EQ(kernel.cycles(UtilisationReplay::kIdle), 0U);
    EXPECT_EQ(kernel.total_cycles(), 100U);
    EXPECT_TRUE(utilisation_shares(Cycles{kernel.cycles(1)}, kernel.total_cycles()).has_too_much);
}

TEST(UtilisationReplay, AThreadThatIsResetBehindResetLogSeemsToRunSinceTheClockBegan) {
    UtilisationReplay wrong{1};
    wrong.reset_log(1'000'000);
    wrong.reset_thread(1);
    wrong.finalize_log(1'000'100);
    EXPECT_EQ(wrong.cycles(1), 1'000'100U);
    EXPECT_TRUE(utilisation_shares(Cycles{wrong.cycles(1)}, wrong.total_cycles()).has_too_much);
    UtilisationReplay right{1};
    right.reset_thread(1);
    right.reset_log(1'000'000);
    right.finalize_log(1'000'100);
    EXPECT_EQ(right.cycles(1), 100U);
}

TEST(UtilisationReplay, WithoutResetLogThereIsNoWindow) {
    UtilisationReplay kernel{1};
    kernel.switch_to(2, 500);
    kernel.finalize_log(900);
    EXPECT_EQ(kernel.cycles(1), 0U);
    EXPECT_EQ(kernel.total_cycles(), 900U) << "not 0: the clock itself";
    EXPECT_EQ(kernel.total_schedules(), 0U);
}

}  // namespace
}  // namespace perfleet
