#include "query-engine/statistic/kernel/entry_owner.h"

#include <gtest/gtest.h>

namespace perfleet::entry_owner_test {
namespace {

using Owners = std::vector<std::uint32_t>;
constexpr std::uint32_t kCollector = kOwnedByCollector;
constexpr std::uint32_t kNobody = kOwnedByNobody;

EntryMoment call(std::uint64_t start) { return {start, false, false}; }
EntryMoment wait(std::uint64_t start) { return {start, false, true}; }
EntryMoment interrupt(std::uint64_t start) { return {start, true, false}; }

TEST(EntryOwner, IsTheNextMomentOnceTheCollectorWaitsAgain) {
    const std::vector<std::uint64_t> moments{1'000, 2'000};
    const std::vector<EntryMoment> entries{call(500),        interrupt(990), call(1'010), call(1'020),
                                           wait(1'050),      call(1'400),    wait(1'500), call(1'600),
                                           interrupt(1'990), call(2'005),    wait(2'050), call(2'100)};
    EXPECT_EQ(owners_of(entries, moments), (Owners{0, kCollector, kCollector, kCollector, kCollector, 1, 1, 1,
                                                   kCollector, kCollector, kCollector, kNobody}));
}

TEST(EntryOwner, InterruptsOfOthersAreOfWhomTheyInterrupt) {
    EXPECT_EQ(
        owners_of(std::vector{interrupt(1'200), call(1'300), wait(1'400)}, std::vector<std::uint64_t>{1'000, 2'000}),
        (Owners{kCollector, kCollector, kCollector}));
    EXPECT_EQ(
        owners_of(std::vector{wait(1'100), interrupt(1'200), call(1'300)}, std::vector<std::uint64_t>{1'000, 2'000}),
        (Owners{kCollector, 1, 1}));
}

// Without a wait it is unknown until when the collector ran.
TEST(EntryOwner, ACollectorThatNeverWaitsHasNothing) {
    EXPECT_EQ(owners_of(std::vector{call(1'100), call(1'900)}, std::vector<std::uint64_t>{1'000, 2'000}),
              (Owners{1, 1}));
}

TEST(EntryOwner, WhatLiesTooFarBeforeAMomentIsNobodys) {
    // Distances 1,000, 1,000, 7,000: two of the median are 2,000.
    const std::vector<std::uint64_t> moments{1'000, 2'000, 3'000, 10'000};
    EXPECT_EQ(reach_of(moments), 2'000U);
    EXPECT_EQ(owners_of(std::vector{wait(3'010), call(4'000), call(7'999), call(8'000), call(9'999)}, moments),
              (Owners{kCollector, kNobody, kNobody, 3, 3}));
}

TEST(EntryOwner, OneMomentAloneSpeaksForNothing) {
    EXPECT_EQ(owners_of(std::vector{call(900), call(1'100)}, std::vector<std::uint64_t>{1'000}),
              (Owners{kNobody, kNobody}));
    EXPECT_EQ(owners_of(std::vector{call(900)}, std::vector<std::uint64_t>{}), (Owners{kNobody}));
    EXPECT_TRUE(owners_of({}, std::vector<std::uint64_t>{1'000, 2'000}).empty());
}

TEST(EntryOwner, TimesAtTheEndsOfTheClockDontWrap) {
    const std::vector<std::uint64_t> moments{0, ~0ULL};
    EXPECT_EQ(reach_of(moments), ~0ULL);
    EXPECT_EQ(owners_of(std::vector{call(0), call(~0ULL)}, moments), (Owners{1, kNobody}));
}

}  // namespace
}  // namespace perfleet::entry_owner_test
