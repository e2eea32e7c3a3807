#include "query-engine/statistic/number/joint_level.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "query-engine/statistic/number/random_stream.h"

namespace perfleet::joint_level_test {
namespace {

using Counts = std::vector<std::uint64_t>;
constexpr long double kAlpha = 0.05L;

TEST(JointLevel, OfLinesThatAreOneIsThatOfOne) {
    RandomStream random{3};
    Counts hits(16);
    for (std::uint64_t& one : hits) {
        one = 900 + random.below(200);
    }
    JointLevel same{Counts(16, 5'000), 8};
    for (int line = 0; line < 50; ++line) {
        same.add(hits);
    }
    // Each of fifty would have a fiftieth by itself.
    ASSERT_TRUE(same.level(kAlpha).has_value());
    EXPECT_GT(*same.level(kAlpha), kAlpha / 2);
}

TEST(JointLevel, OfManyIndependentLinesIsNearTheirPart) {
    RandomStream random{4};
    JointLevel many{Counts(16, 100'000), 8};
    for (int line = 0; line < 50; ++line) {
        Counts hits(16);
        for (std::uint64_t& one : hits) {
            one = 900 + random.below(200);
        }
        many.add(hits);
    }
    ASSERT_TRUE(many.level(kAlpha).has_value());
    EXPECT_GE(*many.level(kAlpha), kAlpha / 50);
    EXPECT_LT(*many.level(kAlpha), kAlpha / 15);
}

TEST(JointLevel, DependsNotOnWhichSideIsFirst) {
    RandomStream random{5};
    JointLevel one_way{Counts(8, 5'000), 4};
    JointLevel other_way{Counts(8, 5'000), 4};
    for (int line = 0; line < 5; ++line) {
        Counts hits(8);
        for (std::uint64_t& one : hits) {
            one = 900 + random.below(200);
        }
        one_way.add(hits);
        std::rotate(hits.begin(), hits.begin() + 4, hits.end());
        other_way.add(hits);
    }
    EXPECT_EQ(one_way.level(kAlpha), other_way.level(kAlpha));
}

TEST(JointLevel, SaysNothingOfFewRunsOrOneLine) {
    JointLevel few{Counts(6, 5'000), 3};  // 20 ways
    few.add(Counts(6, 10));
    few.add(Counts(6, 20));
    EXPECT_EQ(few.level(kAlpha), std::nullopt);
    JointLevel lonely{Counts(16, 5'000), 8};
    lonely.add(Counts(16, 10));
    EXPECT_EQ(lonely.level(kAlpha), std::nullopt);
    JointLevel alone{Counts(16, 5'000), 1};
    alone.add(Counts(16, 10));
    alone.add(Counts(16, 20));
    EXPECT_EQ(alone.level(kAlpha), std::nullopt);
}

TEST(JointLevel, IsThatOfEachPartWhereThereAreTooManyLines) {
    JointLevel many{Counts(16, 5'000), 8};
    for (std::size_t line = 0; line <= JointLevel::kLinesMax; ++line) {
        many.add(Counts(16, 10));
    }
    EXPECT_EQ(many.level(kAlpha), std::nullopt);
}

}  // namespace
}  // namespace perfleet::joint_level_test
