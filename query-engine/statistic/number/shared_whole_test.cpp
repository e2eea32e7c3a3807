#include "query-engine/statistic/number/shared_whole.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace perfleet::shared_whole_test {
namespace {

// One that is alone at most moments, where little is measured, has little of what is measured of both together.
TEST(SharedWhole, GoesToWhoseRateExplainsIt) {
    std::vector<Participation> parts;
    std::vector<std::uint64_t> wholes;
    for (std::uint32_t moment = 0; moment < 100; ++moment) {
        const bool has_both = moment % 10 == 0;
        parts.push_back({moment, 0, 900});
        if (has_both) {
            parts.push_back({moment, 1, 100});
        }
        wholes.push_back(has_both ? 1'009 : 9);
    }
    const std::vector<double> fractions = fractions_of(parts, wholes, 2);
    EXPECT_NEAR(fractions[0] * 1'009, 9, 0.01);
    EXPECT_NEAR(fractions[1] * 1'009, 1'000, 0.01);
    EXPECT_DOUBLE_EQ(fractions[2], 1);  // alone
}

TEST(SharedWhole, OfThoseWhoAreAlwaysTogetherGoesByWeight) {
    const std::vector<Participation> parts{{0, 0, 30}, {0, 1, 10}, {1, 0, 60}, {1, 1, 20}};
    const std::vector<double> fractions = fractions_of(parts, std::vector<std::uint64_t>{400, 7}, 2);
    EXPECT_NEAR(fractions[0], 0.75, 1e-12);
    EXPECT_NEAR(fractions[3], 0.25, 1e-12);
}

TEST(SharedWhole, WithoutWeightsOrWithoutAnythingToShareIsDividedEqually) {
    const std::vector<Participation> parts{{0, 0, 0}, {0, 1, 0}, {1, 0, 5}, {1, 1, 15}};
    const std::vector<double> fractions = fractions_of(parts, std::vector<std::uint64_t>{0, 0}, 2);
    EXPECT_DOUBLE_EQ(fractions[0], 0.5);
    EXPECT_DOUBLE_EQ(fractions[1], 0.5);
    EXPECT_DOUBLE_EQ(fractions[3], 0.75);
    EXPECT_TRUE(fractions_of({}, {}, 0).empty());
}

// Counts that were drawn with known rates: they come back, and each moment's fractions add up.
TEST(SharedWhole, FindsTheRatesThatCountsWereDrawnWith) {
    constexpr std::array kRates{0.01, 0.5, 2.0};
    std::mt19937_64 random{7};
    std::vector<Participation> parts;
    std::vector<std::uint64_t> wholes;
    std::array<double, 3> exposures{};
    for (std::uint32_t moment = 0; moment < 2'000; ++moment) {
        double expected = 0;
        for (std::uint32_t member = 0; member < kRates.size(); ++member) {
            if (const std::uint64_t weight = random() % 3 == 0 ? 0 : random() % 100; weight != 0) {
                parts.push_back({moment, member, weight});
                expected += kRates.at(member) * static_cast<double>(weight);
                exposures.at(member) += static_cast<double>(weight);
            }
        }
        wholes.push_back(expected > 0 ? std::poisson_distribution<std::uint64_t>{expected}(random) : 0);
    }
    const std::vector<double> fractions = fractions_of(parts, wholes, kRates.size());
    std::array<double, 3> sums{};
    std::vector<double> totals(wholes.size(), 0);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        sums.at(parts[i].member) += fractions[i] * static_cast<double>(wholes[parts[i].moment]);
        totals[parts[i].moment] += fractions[i];
    }
    for (std::size_t member = 0; member < kRates.size(); ++member) {
        EXPECT_NEAR(sums.at(member) / exposures.at(member), kRates.at(member), 0.02) << member;
    }
    for (const Participation& part : parts) {
        EXPECT_NEAR(totals[part.moment], 1, 1e-9);
    }
}

}  // namespace
}  // namespace perfleet::shared_whole_test
