#include "storage/number/moments.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace perfleet::moments_test {
namespace {

TEST(Uint256, ItsGreatestLimbsDecide) {
    const auto of = [](std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
        return Uint256::of({a, b, c, d});
    };
    EXPECT_GT(of(0, 0, 0, 1), of(9, 9, 9, 0));
    EXPECT_LT(of(9, 9, 0, 4), of(0, 0, 1, 4));
    EXPECT_GT(of(0, 2, 3, 4), of(9, 1, 3, 4));
    EXPECT_LT(of(1, 2, 3, 4), of(2, 2, 3, 4));
    EXPECT_EQ(of(1, 2, 3, 4) <=> of(1, 2, 3, 4), std::strong_ordering::equal);
}

TEST(Uint256, CarriesAndBorrowsOverAllLimbs) {
    constexpr std::uint64_t kAll = ~0ULL;
    Uint256 sum = Uint256::of({kAll, kAll, kAll, 0});
    sum += Uint256{1};
    EXPECT_EQ(sum, Uint256::of({0, 0, 0, 1}));
    sum -= Uint256{1};
    EXPECT_EQ(sum, Uint256::of({kAll, kAll, kAll, 0}));
    // (2^128 - 1)² is 2^256 - 2^129 + 1.
    const Uint128 greatest = ~Uint128{0};
    EXPECT_EQ(Uint256::product(greatest, greatest), Uint256::of({1, 0, kAll - 1, kAll}));
    EXPECT_EQ(Uint256::of({kAll, 0, 0, 0}).times(kAll), Uint256::of({1, kAll - 1, 0, 0}));
}

// All ways of adding values come to the same, at the ends of the ranges in which they are added in another way, too.
TEST(Moments, AreTheSameOneByOneAndTogether) {
    std::mt19937_64 random{5};
    const std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges{{0, 100},
                                                                      {0, (1ULL << 56U) - 1},
                                                                      {0, 1ULL << 56U},
                                                                      {1ULL << 56U, (2ULL << 56U) - 1},
                                                                      {1, (1ULL << 56U) + 1},
                                                                      {1ULL << 60U, ~0ULL},
                                                                      {~0ULL - 5, ~0ULL}};
    for (const auto& [low, high] : ranges) {
        for (const std::size_t count : {1U, 2U, 255U, 256U, 257U, 600U}) {
            std::vector<std::uint64_t> values{low, high};
            values.resize(count);
            for (std::size_t i = 2; i < count; ++i) {
                values[i] = low + random() % (high - low);
            }
            Moments together;
            together.add(values);
            Moments single;
            Moments twice;
            for (const std::uint64_t value : values) {
                single.add(value);
                twice.add(value, 2);
            }
            EXPECT_EQ(together, single) << low << " " << high << " " << count;
            EXPECT_EQ(Moments::of(together.parts()), together);
            single.merge(together);
            EXPECT_EQ(single, twice);
        }
    }
    Moments none;
    none.add(std::vector<std::uint64_t>{});
    EXPECT_EQ(none, Moments{});
    EXPECT_EQ(none.min(), 0U);
}

TEST(Moments, ThatNoValuesHaveAreRefused) {
    const auto is_refused = [](const auto& change) {
        Moments moments;
        for (const std::uint64_t value : {3U, 5U, 7U}) {
            moments.add(value);
        }
        Moments::Parts parts = moments.parts();
        change(parts);
        return !Moments::of(parts).has_value();
    };
    EXPECT_FALSE(is_refused([](Moments::Parts&) {}));
    EXPECT_TRUE(is_refused([](Moments::Parts& parts) { parts.count = 0; }));
    EXPECT_TRUE(is_refused([](Moments::Parts& parts) { parts.min = 8; }));
    EXPECT_TRUE(is_refused([](Moments::Parts& parts) { parts.min = 6; })) << "a sum below that of so many";
    EXPECT_TRUE(is_refused([](Moments::Parts& parts) { parts.max = 4; }));
    EXPECT_TRUE(is_refused([](Moments::Parts& parts) { parts.sum_of_squares = Uint256{3 * 49 + 1}; }));
    EXPECT_TRUE(is_refused([](Moments::Parts& parts) { parts.sum_of_squares = Uint256{74}; })) << "below 15² / 3";
    EXPECT_FALSE(is_refused([](Moments::Parts& parts) { parts.sum_of_squares = Uint256{75}; }));
    Moments equal;
    equal.add(4, 10);
    EXPECT_TRUE(Moments::of(equal.parts()).has_value());
}

TEST(Moments, HaveTheFiguresOfTheirDefinitions) {
    Moments moments;
    EXPECT_FALSE(moments.mean().has_value());
    EXPECT_FALSE(moments.second_moment_about(1).has_value());
    moments.add(3);
    EXPECT_EQ(moments.mean(), 3.0L);
    EXPECT_FALSE(moments.variance().has_value()) << "of one value";
    moments.add(5);
    moments.add(7);
    EXPECT_EQ(moments.mean(), 5.0L);
    EXPECT_EQ(moments.variance(), 4.0L);
    EXPECT_EQ(moments.standard_deviation(), 2.0L);
    EXPECT_EQ(moments.coefficient_of_variation(), 0.4L);
    EXPECT_EQ(moments.second_moment_about(4), (1.0L + 1 + 9) / 3);
    Moments zero;
    zero.add(0, 2);
    EXPECT_FALSE(zero.coefficient_of_variation().has_value());
}

}  // namespace
}  // namespace perfleet::moments_test
