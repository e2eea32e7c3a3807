#include "daemon/log/rate_limit.h"

#include <gtest/gtest.h>

namespace perfleet {
namespace {

constexpr std::uint64_t kStart = 1'000'000'000'000;

TEST(RateLimit, WritesAFewAtOnceAndCountsTheRest) {
    RateLimit limit;
    std::uint64_t written = 0;
    for (int i = 0; i < 100; ++i) {
        written += limit.ask("kind", kStart).may_be_written ? 1 : 0;
    }
    EXPECT_EQ(written, RateLimit::kAtOnceMax);
    EXPECT_EQ(limit.suppressed_count(), 100 - RateLimit::kAtOnceMax);
    const auto verdict = limit.ask("kind", kStart + RateLimit::kEveryNs);
    EXPECT_TRUE(verdict.may_be_written);
    EXPECT_EQ(verdict.suppressed_before, 100 - RateLimit::kAtOnceMax);
    EXPECT_FALSE(limit.ask("kind", kStart + RateLimit::kEveryNs).may_be_written);
}

TEST(RateLimit, OneKindLeavesTheOthersAlone) {
    RateLimit limit;
    for (int i = 0; i < 100; ++i) {
        (void)limit.ask("flood", kStart);
    }
    EXPECT_TRUE(limit.ask("other", kStart).may_be_written);
}

TEST(RateLimit, ALongPauseEarnsNoMoreThanAFewAtOnce) {
    RateLimit limit;
    (void)limit.ask("kind", 1);
    std::uint64_t written = 0;
    for (int i = 0; i < 100; ++i) {
        written += limit.ask("kind", ~0ULL).may_be_written ? 1 : 0;
    }
    EXPECT_EQ(written, RateLimit::kAtOnceMax);
}

// The beginning of a period isn't lost where a message comes in the middle of one.
TEST(RateLimit, EarnsOneMessageAPeriodWheneverItIsAsked) {
    RateLimit limit;
    const auto written_at = [&](std::uint64_t now_ns) {
        std::uint64_t written = 0;
        for (int i = 0; i < 100; ++i) {
            written += limit.ask("kind", now_ns).may_be_written ? 1 : 0;
        }
        return written;
    };
    EXPECT_EQ(written_at(kStart), RateLimit::kAtOnceMax);
    EXPECT_EQ(written_at(kStart + RateLimit::kEveryNs - 1), 0U);
    EXPECT_EQ(written_at(kStart + RateLimit::kEveryNs * 3 / 2), 1U);
    EXPECT_EQ(written_at(kStart + RateLimit::kEveryNs * 2), 1U);
    EXPECT_EQ(written_at(kStart + RateLimit::kEveryNs * 5), 3U);
    EXPECT_EQ(written_at(kStart + RateLimit::kEveryNs * 5), 0U);
    EXPECT_EQ(written_at(kStart), 0U) << "a clock that went back earns nothing";
    EXPECT_EQ(written_at(kStart + RateLimit::kEveryNs * 6), 1U);
}

TEST(RateLimit, KindsBeyondTheirNumberShareOnePlace) {
    RateLimit limit;
    for (std::size_t i = 0; i < RateLimit::kKindsMax; ++i) {
        EXPECT_TRUE(limit.ask("kind" + std::to_string(i), kStart).may_be_written);
    }
    std::uint64_t written = 0;
    for (int i = 0; i < 1'000; ++i) {
        written += limit.ask("more" + std::to_string(i), kStart).may_be_written ? 1 : 0;
    }
    EXPECT_EQ(written, RateLimit::kAtOnceMax);
    // The first of them began its periods, not each.
    EXPECT_FALSE(limit.ask("yet more", kStart + RateLimit::kEveryNs - 1).may_be_written);
    EXPECT_TRUE(limit.ask("and more", kStart + RateLimit::kEveryNs).may_be_written);
}

// Wherever that is in the time of the process.
TEST(RateLimit, PeriodsBeginWithTheFirstMessageOfAKind) {
    constexpr std::uint64_t kFirst = kStart + RateLimit::kEveryNs / 2;
    RateLimit limit;
    for (std::uint64_t i = 0; i < RateLimit::kAtOnceMax; ++i) {
        EXPECT_TRUE(limit.ask("kind", kFirst).may_be_written);
    }
    EXPECT_FALSE(limit.ask("kind", kFirst + RateLimit::kEveryNs - 1).may_be_written);
    EXPECT_TRUE(limit.ask("kind", kFirst + RateLimit::kEveryNs).may_be_written);
}

TEST(RateLimit, OnlyKindsOfWhichMessagesWereLeftOutAreReported) {
    RateLimit limit;
    (void)limit.ask("quiet", kStart);
    for (std::uint64_t i = 0; i < RateLimit::kAtOnceMax + 5; ++i) {
        (void)limit.ask("flood", kStart);
        (void)limit.ask("later", kStart + 1);
    }
    using Reported = std::vector<std::pair<std::string, std::uint64_t>>;
    EXPECT_EQ(limit.take_suppressed(kStart + RateLimit::kEveryNs), (Reported{{"flood", 5}}));
    EXPECT_FALSE(limit.ask("flood", kStart + RateLimit::kEveryNs).may_be_written) << "the report was its message";
    EXPECT_EQ(limit.take_all_suppressed(), (Reported{{"flood", 1}, {"later", 5}}))
        << "also what may not be written yet";
    EXPECT_EQ(limit.take_all_suppressed(), Reported{});
}

TEST(RateLimit, WhatWasLeftOutIsToldOnceItMayBe) {
    RateLimit limit;
    for (std::uint64_t i = 0; i < RateLimit::kAtOnceMax + 5; ++i) {
        (void)limit.ask("kind", kStart);
    }
    EXPECT_TRUE(limit.take_suppressed(kStart + RateLimit::kEveryNs - 1).empty());
    const auto suppressed = limit.take_suppressed(kStart + RateLimit::kEveryNs);
    ASSERT_EQ(suppressed.size(), 1U);
    EXPECT_EQ(suppressed.front().first, "kind");
    EXPECT_EQ(suppressed.front().second, 5U);
    EXPECT_TRUE(limit.take_all_suppressed().empty());
}

TEST(RateLimit, AKindIsTheTextBeforeWhatVaries) {
    EXPECT_EQ(kind_of_text("batch 17 of 'x' was refused"), "batch");
    EXPECT_EQ(kind_of_text("a collector was refused: 'x' names"), "a collector was refused:");
    EXPECT_EQ(kind_of_text("storing again"), "storing again");
    EXPECT_EQ(kind_of_text("17"), "other");
    EXPECT_EQ(kind_of_text(""), "other");
    EXPECT_EQ(kind_of_text("  17"), "other");
    EXPECT_EQ(kind_of_text(std::string(49, 'a')), std::string(48, 'a'));
}

}  // namespace
}  // namespace perfleet
