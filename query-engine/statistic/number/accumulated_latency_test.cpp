// Held against the published figures of the Kanata Bench paper.
#include "query-engine/statistic/number/accumulated_latency.h"
#include "tests/golden/golden_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace perfleet {
namespace {

// The table of a golden file: groups of Moments, without the first `skipped` tests.
std::vector<LatencyGroup> groups_of(const std::string& file, std::uint64_t initial, std::size_t skipped = 0) {
    std::istringstream input{golden_file("statistics/" + file)};
    std::vector<LatencyGroup> groups;
    std::size_t row_number = 0;
    for (std::string line; std::getline(input, line);) {
        if (line.empty() || line[0] < '0' || line[0] > '9') {
            continue;
        }
        std::istringstream row{line};
        std::size_t group = 0;
        ++row_number;
        for (std::uint64_t value = 0; row >> value; ++group) {
            if (groups.size() <= group) {
                groups.push_back({initial + group, {}});
            }
            if (row_number > skipped) {
                groups[group].accumulated.add(value);
            }
        }
    }
    return groups;
}

void expect_near(long double value, double expected, double within) {
    EXPECT_NEAR(static_cast<double>(value), expected, within);
}

TEST(AccumulatedLatency, TableThreeFourReproduces) {
    const auto groups = groups_of("kanata_table_3_4.txt", 1);
    ASSERT_EQ(groups.size(), 5U);
    struct Row {
        std::uint64_t sum, min, max;
        double mean, sd, cv, mean_of_one, variance_p;
    };
    const std::vector<Row> rows{
        {153'029, 4'674, 7'152, 5'100.966667, 461.505519, 9.04741, 5'100.966667, 212'987},
        {288'168, 9'291, 10'345, 9'605.600000, 262.099165, 2.72861, 4'802.800000, 34'348},
        {435'241, 13'845, 15'269, 14'508.033333, 420.362855, 2.89745, 4'836.011111, 58'902},
        {571'807, 18'326, 20'052, 19'060.233333, 471.024466, 2.47124, 4'765.058333, 55'466},
        {706'484, 23'001, 24'324, 23'549.466667, 389.484162, 1.65390, 4'709.893333, 30'340},
    };
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const Moments& moments = groups[i].accumulated;
        const auto primary = infer_primary(moments, groups[i].test_size, 1.645L, 0.02L);
        ASSERT_TRUE(primary);
        EXPECT_EQ(moments.count(), 30U);
        EXPECT_EQ(static_cast<std::uint64_t>(moments.sum()), rows[i].sum);
        EXPECT_EQ(moments.min(), rows[i].min);
        EXPECT_EQ(moments.max(), rows[i].max);
        expect_near(*moments.mean(), rows[i].mean, 5e-7);
        expect_near(*moments.standard_deviation(), rows[i].sd, 5e-7);
        expect_near(*moments.coefficient_of_variation() * 100, rows[i].cv, 5e-6);
        expect_near(primary->mean, rows[i].mean_of_one, 5e-7);
        expect_near(primary->variance_p, rows[i].variance_p, 0.5);
    }
}

TEST(AccumulatedLatency, SampleSizesAreThoseOfFormulaThreeThree) {
    const Moments group = groups_of("kanata_table_3_4.txt", 1)[0].accumulated;
    const auto coarse = sample_size_for(group, 1.645L, 0.02L);
    expect_near(coarse->exact, 55.3759, 5e-5);
    EXPECT_EQ(coarse->needed, 56U);
    const auto fine = sample_size_for(group, 1.645L, 0.01L);
    expect_near(fine->exact, 221.50, 5e-3);
    EXPECT_EQ(fine->needed, 222U);
    const Moments run = groups_of("kanata_run_1.txt", 300)[0].accumulated;
    expect_near(sample_size_for(run, 1.645L, 0.02L)->exact, 0.022711, 5e-7);
    EXPECT_EQ(sample_size_for(run, 1.645L, 0.0005L)->needed, 37U);
    expect_near(sample_size_for(run, 1.645L, 0.0005L)->exact, 36.338, 5e-4);
}

TEST(AccumulatedLatency, AppendixTwoRunOneReproduces) {
    const Moments run = groups_of("kanata_run_1.txt", 300)[0].accumulated;
    const auto primary = infer_primary(run, 300, tabulated_factor(0.90L), 0.02L);
    ASSERT_TRUE(primary);
    EXPECT_EQ(static_cast<std::uint64_t>(run.sum()), 40'859'633U);
    expect_near(*run.mean(), 1'361'987.766667, 5e-7);
    expect_near(*run.variance(), 6'227'560.943678, 5e-7);
    expect_near(*run.variance() * 29 / 30, 6'019'975.578889, 5e-7);  // of the population
    expect_near(primary->mean, 4'539.959222, 5e-7);
    expect_near(primary->variance_y, 69.195122, 5e-7);
    expect_near(primary->deviation_y, 8.318361, 5e-7);
    expect_near(primary->deviation_y / primary->mean * 100, 0.183225, 5e-7);
    expect_near(primary->half_width, 2.498291, 5e-7);
    expect_near(primary->interval.low, 4'537.460931, 5e-7);
    expect_near(primary->interval.high, 4'542.457513, 5e-7);
    expect_near(primary->half_width_fraction * 100, 0.055029, 5e-7);
    expect_near(primary->variance_p, 20'758.536479, 5e-7);
    expect_near(primary->deviation_p, 144.078230, 5e-7);
    expect_near(primary->deviation_p / primary->mean * 100, 3.173558, 5e-7);
    // Student's t would be wider.
    const auto student = mean_interval(run, MeanBasis::kStudent, 0.90L);
    expect_near(student->low / 300, 4'537.3787, 5e-5);
    expect_near(student->high / 300, 4'542.5397, 5e-5);
}

TEST(AccumulatedLatency, FirstTestsCanBeLeftOut) {
    const Moments group = groups_of("kanata_table_3_4.txt", 1, 1)[0].accumulated;
    EXPECT_EQ(group.count(), 29U);
    expect_near(*group.mean(), 5'030.241379, 5e-7);
    expect_near(*group.standard_deviation(), 255.289423, 5e-7);
}

TEST(AccumulatedLatency, TabulatedFactorsHaveThreeDecimals) {
    EXPECT_EQ(static_cast<double>(tabulated_factor(0.90L)), 1.645);
    EXPECT_EQ(static_cast<double>(tabulated_factor(0.95L)), 1.960);
    EXPECT_EQ(static_cast<double>(tabulated_factor(0.99L)), 2.576);
}

TEST(AccumulatedLatency, WarmUpIsOverBehindTheLastGreatChange) {
    const auto groups = groups_of("kanata_table_3_4.txt", 1);
    const auto changes = relative_changes(groups);
    EXPECT_FALSE(changes[0]);
    expect_near(*changes[1] * 100, -5.845, 5e-4);
    expect_near(*changes[2] * 100, 0.691, 5e-4);
    expect_near(*changes[3] * 100, -1.467, 5e-4);
    expect_near(*changes[4] * 100, -1.158, 5e-4);
    EXPECT_FALSE(converged_from(groups, 0.005L));
    EXPECT_EQ(converged_from(groups, 0.02L), std::optional<std::size_t>{1});
    EXPECT_EQ(converged_from(groups, 0.06L), std::optional<std::size_t>{0});
    EXPECT_FALSE(converged_from(std::span{groups}.first(1), 0.5L));
}

TEST(AccumulatedLatency, FixedCostAndSlopeComeFromTwoSizes) {
    std::vector<LatencyGroup> groups{{10, {}}, {25, {}}};
    groups[0].accumulated.add(7 + 10 * 40);
    groups[1].accumulated.add(7 + 25 * 40);
    const auto line = fixed_cost(groups[0], groups[1]);
    ASSERT_TRUE(line);
    EXPECT_EQ(line->slope, 40);
    EXPECT_EQ(line->cost, 7);
    EXPECT_FALSE(fixed_cost(groups[1], groups[0]));
}

TEST(AccumulatedLatency, UnequalVariancesContradictIndependence) {
    EXPECT_LT(*unequal_variances(groups_of("kanata_table_3_4.txt", 1)), 1e-4L);
    std::vector<LatencyGroup> alike(2);
    for (std::uint64_t i = 0; i < 2; ++i) {
        alike[i].test_size = 1;
        for (std::uint64_t value = 0; value < 30; ++value) {
            alike[i].accumulated.add(1'000 + 10 * value + i * (value % 3));
        }
    }
    EXPECT_GT(*unequal_variances(alike), 0.5L);
}

}  // namespace
}  // namespace perfleet
