#include "query-engine/statistic/number/bootstrap.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "query-engine/statistic/number/dependence.h"
#include "query-engine/statistic/number/description.h"
#include "query-engine/statistic/number/testing/run_simulation.h"

namespace perfleet {
namespace {

using Sorted = std::span<const std::uint64_t>;

long double mean_of(Sorted values) {
    return static_cast<long double>(std::accumulate(values.begin(), values.end(), std::uint64_t{0})) /
           static_cast<long double>(values.size());
}

long double deviation_of(Sorted values) {
    const long double mean = mean_of(values);
    long double squares = 0;
    for (const std::uint64_t value : values) {
        squares += (static_cast<long double>(value) - mean) * (static_cast<long double>(value) - mean);
    }
    return std::sqrt(squares / static_cast<long double>(values.size() - 1));
}

template <class Draw>
std::vector<std::uint64_t> drawn(std::size_t count, Draw draw) {
    std::vector<std::uint64_t> values(count);
    std::generate(values.begin(), values.end(), [&] { return static_cast<std::uint64_t>(draw()); });
    return values;
}

TEST(Bootstrap, OfNormalValuesIsAsWideAsStudents) {
    RandomStream random{7};
    const auto values = drawn(300, [&] { return 1e6L + 1e4L * normal(random); });
    const std::array<SampleFigure, 1> figures{mean_of};
    const auto found = bootstrap_intervals(values, figures, 0.95L, 1);
    ASSERT_TRUE(found[0]);
    Moments moments;
    moments.add(values);
    const auto student = mean_interval(moments, MeanBasis::kStudent, 0.95L);
    const long double width = student->high - student->low;
    EXPECT_NEAR(static_cast<double>((found[0]->low - student->low) / width), 0, 0.08);
    EXPECT_NEAR(static_cast<double>((found[0]->high - student->high) / width), 0, 0.08);
    // The same each time.
    EXPECT_EQ(bootstrap_intervals(values, figures, 0.95L, 1)[0]->low, found[0]->low);
    const auto wider = bootstrap_intervals(values, figures, 0.99L, 1);
    EXPECT_LT(wider[0]->low, found[0]->low);
    EXPECT_GT(wider[0]->high, found[0]->high);
}

TEST(Bootstrap, HoldsTheTrueFiguresAsOftenAsItSays) {
    constexpr int kRounds = 300;
    RandomStream random{71};
    const std::array<SampleFigure, 1> mean{mean_of};
    const std::array<SampleFigure, 1> deviation{deviation_of};
    int means = 0;
    int deviations = 0;
    for (int round = 0; round < kRounds; ++round) {
        const auto skewed = bootstrap_intervals(drawn(60, [&] { return exponential(random); }), mean, 0.95L, 1);
        means += skewed[0]->low <= 1e6L && skewed[0]->high >= 1e6L ? 1 : 0;
        const auto spread =
            bootstrap_intervals(drawn(60, [&] { return 1e6L + 1e4L * normal(random); }), deviation, 0.95L, 1);
        deviations += spread[0]->low <= 1e4L && spread[0]->high >= 1e4L ? 1 : 0;
    }
    EXPECT_GE(means, kRounds * 88 / 100);
    EXPECT_LE(means, kRounds * 98 / 100);
    EXPECT_GE(deviations, kRounds * 88 / 100);
    EXPECT_LE(deviations, kRounds * 98 / 100);
}

TEST(Bootstrap, BlocksHoldWhatDependsOnWhatCameBefore) {
    constexpr int kRounds = 60;
    RandomStream random{5};
    const std::array<SampleFigure, 1> mean{mean_of};
    int apart = 0;
    int in_blocks = 0;
    for (int round = 0; round < kRounds; ++round) {
        const auto values = correlated_values(1'000, 0.8L, random);
        const auto holds = [&](std::size_t block) {
            const auto found = bootstrap_intervals(values, mean, 0.95L, block);
            return found[0]->low <= 1e6L && found[0]->high >= 1e6L ? 1 : 0;
        };
        apart += holds(1);
        in_blocks += holds(bootstrap_block(values.size(), dependence_of_mean(values)));
    }
    EXPECT_LT(apart, kRounds * 65 / 100);
    EXPECT_GE(in_blocks, kRounds * 85 / 100);
}

TEST(Bootstrap, SaysNothingOfFewOrEqualValues) {
    const std::array<SampleFigure, 2> figures{mean_of, deviation_of};
    EXPECT_FALSE(bootstrap_intervals(std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9}, figures, 0.95L, 1)[0]);
    EXPECT_FALSE(bootstrap_intervals(std::vector<std::uint64_t>(100, 5), figures, 0.95L, 1)[1]);
    EXPECT_FALSE(bootstrap_intervals({}, figures, 0.95L, 1)[0]);
    EXPECT_EQ(bootstrap_block(100, 1), 1U);
    EXPECT_EQ(bootstrap_block(1'000, 9), 36U);
    EXPECT_EQ(bootstrap_block(100, 40), 10U) << "a tenth of the values at most";
}

}  // namespace
}  // namespace perfleet
