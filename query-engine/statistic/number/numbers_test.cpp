// The numbers held against brute force and against the published vectors of the source documents.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "query-engine/statistic/number/bernat.h"
#include "query-engine/statistic/number/comparison.h"
#include "query-engine/statistic/number/description.h"
#include "query-engine/statistic/number/distribution.h"
#include "query-engine/statistic/number/histogram.h"
#include "query-engine/statistic/number/legacy_summary.h"
#include "query-engine/statistic/number/random_stream.h"
#include "query-engine/statistic/number/rank_search.h"
#include "query-engine/statistic/number/testing/run_simulation.h"
#include "query-engine/statistic/number/validity_warning.h"
#include "storage/number/rank_sketch.h"

namespace perfleet {
namespace {

using Values = std::vector<std::uint64_t>;

Values numbers_to(std::uint64_t last) {
    Values values(last);
    for (std::uint64_t i = 0; i < last; ++i) {
        values[i] = i + 1;
    }
    return values;
}

Moments moments_of(const Values& values) {
    Moments moments;
    moments.add(values);
    return moments;
}

// Shapes that are unkind to sums, buckets and comparisons.
Values nasty_values(RandomStream& random, std::uint64_t shape, std::size_t count) {
    Values values(count);
    for (std::uint64_t& value : values) {
        switch (shape % 6) {
            case 0: value = random.next(); break;
            case 1: value = ~0ULL - random.below(3); break;
            case 2: value = random.next() >> random.below(64); break;
            case 3: value = random.below(4); break;
            case 4: value = (1ULL << 60) + (random.below(2) << 20) + random.below(10); break;
            default: value = 7;
        }
    }
    return values;
}

TEST(Moments, AreExactForTheGreatestValuesThereAre) {
    Moments moments;
    moments.add(~0ULL, 1'000'000'000);
    moments.add(~0ULL - 2, 1'000'000'000);
    EXPECT_EQ(static_cast<double>(*moments.mean()), 0x1p64 - 2);
    // Every value is 1 from the mean; 2e9 ÷ (2e9 − 1).
    EXPECT_NEAR(static_cast<double>(*moments.variance()), 2e9 / (2e9 - 1), 1e-18);
}

TEST(Moments, EqualTwoPassesInExtendedPrecision) {
    RandomStream random{1};
    for (std::uint64_t round = 0; round < 120; ++round) {
        const Values values = nasty_values(random, round, 2 + random.below(3'000));
        // About a value that is among them, so that nothing cancels.
        const std::uint64_t base = *std::min_element(values.begin(), values.end());
        long double sum = 0;
        for (const std::uint64_t value : values) {
            sum += static_cast<long double>(value - base);
        }
        const long double above_base = sum / static_cast<long double>(values.size());
        const long double mean = above_base + static_cast<long double>(base);
        long double squares = 0;
        for (const std::uint64_t value : values) {
            const long double distance = static_cast<long double>(value - base) - above_base;
            squares += distance * distance;
        }
        const long double variance = squares / static_cast<long double>(values.size() - 1);
        const Moments moments = moments_of(values);
        EXPECT_LE(std::abs(*moments.mean() - mean), 1e-15L * mean);
        EXPECT_LE(std::abs(*moments.variance() - variance), 1e-12L * variance) << round;
    }
}

TEST(Moments, AreTheSameByRunsAndOneByOne) {
    RandomStream random{9};
    for (std::uint64_t shape = 0; shape < 6; ++shape) {
        const Values values = nasty_values(random, shape, 2'000);
        Moments one_by_one;
        for (const std::uint64_t value : values) {
            one_by_one.add(value);
        }
        EXPECT_EQ(moments_of(values), one_by_one) << shape;
    }
}

TEST(Moments, TheDifferenceOfTwoMeansIsExactWhereTheyRound) {
    constexpr std::uint64_t kGreat = ~0ULL - 10;
    Moments first;
    Moments second;
    first.add(Values{kGreat, kGreat + 1, kGreat + 1, kGreat + 2, kGreat, kGreat});
    second.add(Values{kGreat + 1, kGreat + 1, kGreat + 1, kGreat + 2, kGreat, kGreat});
    EXPECT_EQ(mean_difference(first, second), 1 / 6.0L);
    EXPECT_EQ(mean_difference(second, first), -1 / 6.0L);
    const auto means = mean_contrast(first, second);
    ASSERT_TRUE(means);
    const Interval interval = difference_interval(*means, 0.95L);
    EXPECT_NEAR(static_cast<double>((interval.low + interval.high) / 2), 1 / 6.0, 1e-12);
    EXPECT_NEAR(static_cast<double>(mean_p_value(*means)), 0.72087650, 1e-7);
}

TEST(Moments, MergeToTheSameBytesInAnyOrder) {
    RandomStream random{2};
    const Values values = nasty_values(random, 2, 10'000);
    const Moments whole = moments_of(values);
    Moments merged;
    std::vector<Values> parts(7);
    for (const std::uint64_t value : values) {
        parts[random.below(parts.size())].push_back(value);
    }
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
        merged.merge(moments_of(*part));
    }
    merged.merge(Moments{});
    EXPECT_EQ(merged, whole);
}

TEST(Moments, AreAbsentWhereTheyAreNotDefined) {
    EXPECT_FALSE(Moments{}.mean());
    EXPECT_FALSE(moments_of({5}).variance());
    EXPECT_FALSE(moments_of({0, 0}).coefficient_of_variation());
    EXPECT_EQ(*moments_of({5, 5, 5}).variance(), 0);
}

TEST(RankSearch, EqualsSorting) {
    RandomStream random{3};
    for (std::uint64_t round = 0; round < 60; ++round) {
        const Values values = nasty_values(random, round, 1 + random.below(20'000));
        Values sorted = values;
        std::sort(sorted.begin(), sorted.end());
        Values ranks{0, sorted.size() - 1};
        for (int i = 0; i < 10; ++i) {
            ranks.push_back(random.below(sorted.size()));
        }
        const Values found = values_at_ranks(values, ranks);
        for (std::size_t i = 0; i < ranks.size(); ++i) {
            ASSERT_EQ(found[i], sorted[ranks[i]]) << round;
        }
    }
}

// More than are collected for the last pass, in few of the first buckets: ranges are narrowed again and again.
TEST(RankSearch, EqualsSortingOfManyValuesInFewBuckets) {
    RandomStream random{8};
    Values values(2'500'000);
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = i == 0 ? 0 : (1ULL << 62) + (random.below(2) << 40) + random.below(1ULL << (i % 2 == 0 ? 36 : 2));
    }
    const Values ranks{0, 1, 600'000, 1'249'999, 1'250'000, 1'900'000, 2'499'999};
    const std::span<const std::uint64_t> all{values};
    RankSearch search{0, *std::max_element(values.begin(), values.end()), ranks};
    int passes = 0;
    for (; !search.is_done(); ++passes) {
        search.count(all.first(1'000'000));
        search.count(all.subspan(1'000'000));
        search.narrow();
    }
    EXPECT_GE(passes, 3);
    std::sort(values.begin(), values.end());
    for (const std::uint64_t rank : ranks) {
        EXPECT_EQ(search.value(rank), values[rank]) << rank;
    }
}

TEST(Quantile, RanksAreExactWhereBinaryFractionsAreNot) {
    EXPECT_EQ(nearest_rank(*parse_percentile("99.9"), 1'000), 998U);
    EXPECT_EQ(nearest_rank(Quantile::of_percent(95), 20), 18U);
    EXPECT_EQ(nearest_rank(Quantile::of_percent(55), 100), 54U);  // 0.55 × 100 is more than 55 in doubles
    EXPECT_EQ(nearest_rank(Quantile{}, 10), 0U);
    EXPECT_EQ(nearest_rank(Quantile::of_percent(100), 10), 9U);
    EXPECT_EQ(percentile_name(*parse_percentile("99.9")), "p99.9");
    for (const char* text : {"", ".", "1.", "-1", "100.1", "1e1", "99.99999999"}) {
        EXPECT_FALSE(parse_percentile(text)) << text;
    }
}

TEST(Quantile, IntervalsCoverWhatTheBinomialSays) {
    for (const std::uint64_t count : {6U, 10U, 30U, 100U, 1'000U}) {
        const auto interval = rank_interval(kMedian, count, 0.95L);
        ASSERT_TRUE(interval);
        long double coverage = 0;  // Σ C(n, k) ÷ 2^n
        for (std::uint64_t k = interval->low + 1; k <= interval->high; ++k) {
            long double term = 1;
            for (std::uint64_t i = 1; i <= count; ++i) {
                term *= (i <= k ? static_cast<long double>(count - k + i) / static_cast<long double>(i) : 1.0L) / 2;
            }
            coverage += term;
        }
        EXPECT_NEAR(static_cast<double>(interval->coverage), static_cast<double>(coverage), 1e-12) << count;
        EXPECT_GE(interval->coverage, 0.95L);
    }
    EXPECT_FALSE(rank_interval(kMedian, 5, 0.95L));  // all five: 93.75 %
    EXPECT_FALSE(rank_interval(Quantile::of_percent(99), 298, 0.95L));
    EXPECT_TRUE(rank_interval(Quantile::of_percent(99), 500, 0.95L));
}

TEST(Quantile, IntervalsSplitTheErrorUnevenlyWhereTheLastValueLeavesMoreThanHalfOfIt) {
    for (const auto& [percent, count] : {std::pair{90U, 30U}, {95U, 60U}, {99U, 300U}}) {
        const auto interval = rank_interval(Quantile::of_percent(percent), count, 0.95L);
        ASSERT_TRUE(interval) << percent;
        EXPECT_EQ(interval->high, count - 1);
        EXPECT_GE(interval->low, count * 2 / 3) << "nearer than the least value";
        EXPECT_GE(interval->coverage, 0.95L);
        // One rank more would leave too little.
        const long double p = percent / 100.0L;
        EXPECT_LT(binomial_probability(count - 1, count, p) - binomial_probability(interval->low + 1, count, p), 0.95L);
        const auto mirrored = rank_interval(Quantile::of_percent(100 - percent), count, 0.95L);
        ASSERT_TRUE(mirrored);
        EXPECT_EQ(mirrored->low, 0U);
        EXPECT_EQ(mirrored->high, count - 1 - interval->low);
    }
    EXPECT_FALSE(rank_interval(Quantile::of_percent(90), 28, 0.95L)) << "0.9^28 is more than 5 %";
    EXPECT_TRUE(rank_interval(Quantile::of_percent(90), 29, 0.95L));
}

TEST(Description, MedianAndItsDeviationAreTheTrueOnes) {
    const auto deviation = [](const Values& values) {
        const auto description = describe(pieces_of(values), {}, 0.95L);
        return std::pair{static_cast<double>(description->median), static_cast<double>(description->deviation)};
    };
    EXPECT_EQ(deviation({10}), (std::pair{10.0, 0.0}));
    EXPECT_EQ(deviation({10, 20}), (std::pair{15.0, 5.0}));
    EXPECT_EQ(deviation({10, 20, 30}), (std::pair{20.0, 10.0}));
    EXPECT_EQ(deviation(numbers_to(10)), (std::pair{5.5, 2.5}));
    EXPECT_EQ(deviation(numbers_to(100)), (std::pair{50.5, 25.0}));
    EXPECT_EQ(deviation({0, ~0ULL}).second, 0x1p63);
}

// (value, clamped) as the article's table has them: out-of-range reads become the last value, and are reported.
TEST(Bernat, PrintedRuleGivesItsPrintedFigures) {
    struct Row {
        Values values;
        BernatFigure p50, p90, p95, p100, p0;
        std::uint64_t deviation;
    };
    const std::vector<Row> rows{
        {{10}, {10, true}, {10, true}, {10, true}, {10, true}, {10, false}, 0},
        {{10, 20}, {20, false}, {20, true}, {20, true}, {20, true}, {10, false}, 10},
        {{10, 20, 30}, {25, false}, {30, true}, {30, true}, {30, true}, {10, false}, 10},
        {numbers_to(10), {6, false}, {10, false}, {10, true}, {10, true}, {1, false}, 3},
        {numbers_to(20), {11, false}, {19, false}, {20, false}, {20, true}, {1, false}, 5},
        {numbers_to(100), {51, false}, {91, false}, {96, false}, {100, true}, {1, false}, 25},
    };
    for (const Row& row : rows) {
        EXPECT_EQ(bernat_percentile(row.values, 50), row.p50) << row.values.size();
        EXPECT_EQ(bernat_percentile(row.values, 90), row.p90) << row.values.size();
        EXPECT_EQ(bernat_percentile(row.values, 95), row.p95) << row.values.size();
        EXPECT_EQ(bernat_percentile(row.values, 100), row.p100) << row.values.size();
        EXPECT_EQ(bernat_percentile(row.values, 0), row.p0) << row.values.size();
        if (row.values.size() != 20) {
            EXPECT_EQ(bernat_deviation(row.values).value, row.deviation) << row.values.size();
        }
    }
    EXPECT_EQ(bernat_ranks(99, 5'000'000'000).index, 4'950'000'000U);  // 32 bits are not enough
    EXPECT_EQ(bernat_percentile(Values{~0ULL - 1, ~0ULL, ~0ULL}, 50).value, ~0ULL);
}

// The article's table, second half: averaged with the neighbour that it computes and doesn't use.
TEST(Bernat, IntendedRuleTakesTheOtherNeighbour) {
    struct Row {
        Values values;
        std::uint64_t p50, p90, p95;
    };
    for (const Row& row : std::vector<Row>{{{10}, 10, 10, 10},
                                           {{10, 20}, 20, 15, 15},
                                           {{10, 20, 30}, 25, 25, 25},
                                           {numbers_to(10), 6, 10, 9},
                                           {numbers_to(20), 11, 19, 20},
                                           {numbers_to(100), 51, 91, 96}}) {
        const auto figure = [&](std::uint64_t percent) {
            return bernat_percentile(row.values, percent, BernatRule::kIntended);
        };
        EXPECT_EQ(figure(50), (BernatFigure{row.p50, false})) << row.values.size();
        EXPECT_EQ(figure(90), (BernatFigure{row.p90, false})) << row.values.size();
        EXPECT_EQ(figure(95), (BernatFigure{row.p95, false})) << row.values.size();
        EXPECT_EQ(figure(0), (BernatFigure{row.values.front(), false})) << row.values.size();
        EXPECT_TRUE(figure(100).is_clamped) << row.values.size();
    }
    EXPECT_EQ(bernat_deviation(Values{10, 20}, BernatRule::kIntended).value, 10U);
}

TEST(LegacySummary, GivesTheFiguresThatSel4benchPublished) {
    Moments moments;
    moments.add(208, 613);
    moments.add(212, 127);
    EXPECT_NEAR(static_cast<double>(*moments.mean()), 208.686486, 5e-7);
    EXPECT_NEAR(static_cast<double>(*moments.variance()), 2.277760, 5e-7);
    EXPECT_NEAR(static_cast<double>(*moments.variance() * 739 / 740), 2.274682, 5e-7);
    EXPECT_NEAR(static_cast<double>(*moments.standard_deviation()), 1.509225, 5e-7);
    EXPECT_NEAR(static_cast<double>(*moments.coefficient_of_variation() * 100), 0.7232, 5e-5);
    const auto legacy = legacy_summary(moments);
    ASSERT_TRUE(legacy);
    EXPECT_NEAR(static_cast<double>(legacy->mean), 208.69, 5e-3);
    EXPECT_NEAR(static_cast<double>(legacy->variance), 2.745946, 5e-7);
    EXPECT_NEAR(static_cast<double>(legacy->standard_deviation), 1.658210, 5e-7);
    EXPECT_EQ(legacy->deviation_percent, 1U);
    Moments constant;
    constant.add(18, 740);
    EXPECT_EQ(legacy_summary(constant)->variance, 0);
    EXPECT_EQ(legacy_summary(constant)->deviation_percent, 0U);
}

TEST(Histogram, CumulativeBarsAreThoseOfTheArticle) {
    const Values counts{51,   3548, 4773, 5918, 1207, 437,  12164, 15508, 23014,
                        6297, 905,  3845, 6687, 4884, 4133, 1015,  1123};
    LinearHistogram histogram{72, 5, counts.size()};
    for (std::size_t i = 0; i < counts.size(); ++i) {
        histogram.add(72 + 5 * i + i % 5, counts[i]);
    }
    histogram.add(33'364, 4'491);
    const Values dark{0, 1, 2, 2, 0, 0, 6, 7, 11, 3, 0, 1, 3, 2, 2, 0, 0, 2};
    const Values cells{0, 1, 4, 7, 7, 7, 14, 21, 33, 36, 36, 38, 42, 44, 46, 47, 47, 50};
    const std::string text = cumulative_bars(histogram, 100'000);
    std::size_t start = 0;
    for (std::size_t row = 0; row < dark.size(); ++row) {
        const std::size_t end = text.find('\n', start);
        ASSERT_NE(end, std::string::npos);
        const std::string line = text.substr(start, end - start);
        const auto times = [&](const std::string& cell) {
            std::uint64_t found = 0;
            for (std::size_t at = line.find(cell); at != std::string::npos; at = line.find(cell, at + cell.size())) {
                ++found;
            }
            return found;
        };
        EXPECT_EQ(times("▒"), dark[row]) << line;
        EXPECT_EQ(times("▒") + times("░"), cells[row]) << line;
        const std::string label = row < 17 ? std::to_string(72 + 5 * row) : "beyond";
        const std::string count = std::to_string(row < 17 ? counts[row] : 4'491);
        EXPECT_EQ(line.substr(0, 9), std::string(9 - label.size(), ' ') + label);
        EXPECT_TRUE(line.ends_with(" " + count)) << line;
        start = end + 1;
    }
    EXPECT_EQ(start, text.size());
}

TEST(Histogram, CumulativeColumnsStandUnderEachOtherWhateverTheDigits) {
    LinearHistogram histogram{999'999'990, 15, 3};
    for (const std::uint64_t value : {999'999'990ULL, 1'000'000'010ULL, 1'000'000'030ULL}) {
        histogram.add(value);
    }
    std::istringstream lines{cumulative_head(histogram, "ns") + cumulative_bars(histogram, 3)};
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
        EXPECT_EQ(line.find("│"), 11U) << line;
        const auto is_character = [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; };
        const std::string before = line.substr(0, line.find("┊"));
        EXPECT_EQ(std::count_if(before.begin(), before.end(), is_character), 11 + 1 + 1 + 50 + 1) << line;
    }
    EXPECT_EQ(count, 4U);
}

TEST(Histogram, Log2StarsAreThoseOfFunclatency) {
    Log2Histogram histogram;
    histogram.add(300, 3);
    histogram.add(512);
    histogram.add(2'047, 2);
    histogram.add(2'048, 13);
    histogram.add(8'191, 42);
    EXPECT_EQ(log2_bars(histogram, "nsecs", 20),
              "                   nsecs     : count    distribution\n"
              "         256 -> 511          : 3        |*                   |\n"
              "         512 -> 1023         : 1        |                    |\n"
              "        1024 -> 2047         : 2        |*                   |\n"
              "        2048 -> 4095         : 13       |******              |\n"
              "        4096 -> 8191         : 42       |********************|\n");
    Log2Histogram ends;
    ends.add(0);
    ends.add(1);
    ends.add(~0ULL);
    EXPECT_EQ(ends.counts()[0], 2U);
    EXPECT_EQ(ends.counts()[63], 1U);
}

TEST(RankTest, SmallSamplesAreExact) {
    // All 20 ways to deal ranks 1 to 6: U = 0 in one of them.
    const RankTest test = rank_test(Values{1, 2, 3}, Values{4, 5, 6});
    EXPECT_TRUE(test.is_exact);
    EXPECT_EQ(test.u, 9);
    EXPECT_NEAR(static_cast<double>(test.p_value), 2.0 / 20, 1e-15);
    EXPECT_EQ(test.superiority, 1);
    EXPECT_EQ(rank_test(Values{5, 5}, Values{5, 5, 5}).p_value, 1);
}

TEST(Comparison, RatioIntervalHoldsTheRatioAndNarrowsWithSpread) {
    const Moments first = moments_of({100, 101, 99, 100, 102, 98});
    const Moments second = moments_of({110, 111, 109, 110, 112, 108});
    const auto ratio = ratio_interval(*mean_contrast(first, second), 0.95L);
    ASSERT_TRUE(ratio);
    EXPECT_LT(ratio->low, 1.1L);
    EXPECT_GT(ratio->high, 1.1L);
    EXPECT_GT(ratio->low, 1.08L);
    EXPECT_LT(ratio->high, 1.12L);
    EXPECT_FALSE(ratio_interval(*mean_contrast(moments_of({0, 0, 1}), second), 0.95L));  // the divisor may be 0
}

TEST(ValidityWarning, OrderIsSeenWhereThereIsSomeAndOnlyThere) {
    RandomStream random{5};
    Values noise;
    Values wander;
    std::uint64_t place = 1'000'000;
    for (int i = 0; i < 2'000; ++i) {
        noise.push_back(1'000 + random.below(100));
        place += random.below(11);
        place -= 5;
        wander.push_back(place);
    }
    EXPECT_LT(std::abs(static_cast<double>(*lag_one_correlation(noise))), 0.06);
    EXPECT_GT(*lag_one_correlation(wander), 0.9L);
    EXPECT_GT(*runs_test(noise), 0.01L);
    EXPECT_LT(*runs_test(wander), 1e-6L);
    Values climbing = noise;
    for (std::size_t i = 0; i < climbing.size(); ++i) {
        climbing[i] += i / 50;
    }
    EXPECT_GT(drift_of(noise)->p_value, 0.01L);
    EXPECT_LT(drift_of(climbing)->p_value, 1e-6L);
    EXPECT_GT(drift_of(climbing)->superiority, 0.6L);
}

TEST(ValidityWarning, ModesAreCounted) {
    RandomStream random{6};
    const auto around = [&](std::uint64_t centre) {
        std::uint64_t sum = centre;
        for (int i = 0; i < 8; ++i) {
            sum += random.below(21);
        }
        return sum - 80;
    };
    Values one;
    Values two;
    for (int i = 0; i < 3'000; ++i) {
        one.push_back(around(1'000));
        two.push_back(around(i % 3 == 0 ? 1'300 : 1'000));
    }
    one.push_back(90'000);
    std::sort(one.begin(), one.end());
    std::sort(two.begin(), two.end());
    EXPECT_EQ(modes_of(one).size(), 1U);
    const auto modes = modes_of(two);
    ASSERT_EQ(modes.size(), 2U);
    EXPECT_NEAR(static_cast<double>(modes[0]), 1'000, 15);
    EXPECT_NEAR(static_cast<double>(modes[1]), 1'300, 15);
    EXPECT_EQ(outliers_of(one).count, 1U);
    EXPECT_EQ(step_of(Values{208, 212, 208, 220}), 4U);
    EXPECT_EQ(modes_of(Values(50, 9)).size(), 1U);
}

TEST(ValidityWarning, OneModeIsSeldomTakenForSeveralAndTwoAreSeen) {
    constexpr int kRounds = 300;
    RandomStream random{61};
    const auto share_of_several = [&](auto draw) {
        int several = 0;
        for (int round = 0; round < kRounds; ++round) {
            Values values(100);
            std::generate(values.begin(), values.end(), [&] { return static_cast<std::uint64_t>(draw()); });
            std::sort(values.begin(), values.end());
            several += modes_of(values).size() > 1 ? 1 : 0;
        }
        return static_cast<double>(several) / kRounds;
    };
    EXPECT_LT(share_of_several([&] { return 10'000 + 1'000 * normal(random); }), 0.03);
    EXPECT_LT(share_of_several([&] { return 10'000 * std::exp(0.5L * normal(random)); }), 0.03);
    EXPECT_LT(share_of_several([&] { return -10'000 * std::log(random.unit()); }), 0.03);
    EXPECT_LT(share_of_several([&] { return 10'000 * random.unit(); }), 0.05);
    EXPECT_GT(share_of_several([&] { return 10'000 + 1'000 * normal(random) + (random.unit() < 0.2L ? 5'000 : 0); }),
              0.75);
}

TEST(ValidityWarning, StepsOfAClockAreNoModes) {
    RandomStream random{63};
    const auto modes_of_clock = [&](long double step, auto draw) {
        Values values(20'000);
        std::generate(values.begin(), values.end(),
                      [&] { return static_cast<std::uint64_t>(std::llround(std::floor(draw() / step) * step)); });
        values.push_back(1'237);  // off the steps, as an interrupt's
        values.push_back(131);
        std::sort(values.begin(), values.end());
        return modes_of(values).size();
    };
    const auto call = [&] { return 130 + 9 * normal(random); };
    EXPECT_EQ(modes_of_clock(10, call), 1U) << "120, 130, 140, 150";
    EXPECT_EQ(modes_of_clock(9.6L, call), 1U) << "steps that are rounded";
    EXPECT_EQ(modes_of_clock(41, [&] { return 400 + 30 * normal(random); }), 1U);
    // Two modes 20 % apart, of a fine clock and of this one.
    EXPECT_EQ(modes_of_clock(1, [&] { return (random.unit() < 0.5L ? 130 : 156) + 3 * normal(random); }), 2U);
    EXPECT_EQ(modes_of_clock(10, [&] { return (random.unit() < 0.5L ? 1'300 : 1'560) + 30 * normal(random); }), 2U);
}

TEST(Coverage, OfMeansOfFewSkewedValues) {
    constexpr int kRounds = 1'000;
    RandomStream random{62};
    const auto held = [&](std::size_t count, auto draw, long double mean) {
        int held_by_skewed = 0;
        for (int round = 0; round < kRounds; ++round) {
            held_by_skewed += skewed_coverage(count, draw, mean, random).skewed ? 1 : 0;
        }
        return held_by_skewed * 100 / kRounds;
    };
    EXPECT_GE(held(30, exponential, 1e6L), 93);
    EXPECT_GE(held(30, lognormal, 1e6L * std::exp(0.5L)), 91);
    EXPECT_GE(held(10, exponential, 1e6L), 92);
    EXPECT_GE(held(10, lognormal, 1e6L * std::exp(0.5L)), 89);
    const int of_normal = held(
        30, [](RandomStream& r) { return 1e6L + 1e5L * normal(r); }, 1e6L);
    EXPECT_GE(of_normal, 93);
    EXPECT_LE(of_normal, 97);
    Moments moments;
    moments.add(Values{10, 20, 30});
    EXPECT_EQ(skewness_of(Values{10, 20, 30}), 0);
    EXPECT_EQ(skewed_mean_interval(moments, 0, 0.95L)->low, mean_interval(moments, MeanBasis::kStudent, 0.95L)->low);
    EXPECT_NEAR(static_cast<double>(skewness_of(Values{~0ULL - 9, ~0ULL - 9, ~0ULL - 9, ~0ULL})), 1.1547, 1e-4);
}

TEST(RankSketch, StaysWithinItsBoundAndMergesInAnyOrder) {
    RandomStream random{7};
    for (std::uint64_t shape = 0; shape < 6; ++shape) {
        Values values = nasty_values(random, shape, 20'000);
        RankSketch whole;
        RankSketch parts[2];
        for (std::size_t i = 0; i < values.size(); ++i) {
            whole.add(values[i]);
            parts[i % 2].add(values[i]);
        }
        parts[1].merge(parts[0]);
        EXPECT_EQ(parts[1], whole);
        std::sort(values.begin(), values.end());
        for (std::size_t rank = 0; rank < values.size(); rank += 97) {
            const std::uint64_t given = whole.value_at(rank);
            const std::uint64_t error = given > values[rank] ? given - values[rank] : values[rank] - given;
            ASSERT_LE(error, values[rank] / 128) << values[rank];
        }
        EXPECT_LE(whole.bucket_count(), 58U * 256);
    }
}

// How often intervals contain the truth, over many samples of a known distribution.
TEST(Coverage, Of95PercentIntervalsIs94To96Percent) {
    constexpr int kRounds = 10'000;
    RandomStream random{2'026};
    struct CountEntry {
        const char* name;
        int hits = 0;
    };
    CountEntry student{"t of the mean, n = 20"};
    CountEntry normal{"z of the mean, n = 200"};
    CountEntry median{"ranks of the median, n = 200"};
    CountEntry tail{"ranks of p90, n = 200"};
    CountEntry difference{"Welch's difference, n = 20 and 30"};
    CountEntry ratio{"Fieller's ratio, n = 20 and 30"};
    // Normal values as integers: fine enough for the rounding not to show.
    const auto draw = [&](long double mean, long double deviation) {
        return static_cast<std::uint64_t>(mean + deviation *
                                                     static_cast<long double>(std::sqrt(-2 * std::log(random.unit()))) *
                                                     std::cos(2 * 3.14159265358979323846 * random.unit()));
    };
    const auto sample = [&](std::size_t count, long double mean, long double deviation) {
        Values values(count);
        std::generate(values.begin(), values.end(), [&] { return draw(mean, deviation); });
        return values;
    };
    const auto holds = [](const Interval& interval, long double truth) {
        return interval.low <= truth && truth <= interval.high ? 1 : 0;
    };
    constexpr long double kMean = 1e9L;
    constexpr long double kDeviation = 1e7L;
    const auto median_ranks = rank_interval(kMedian, 200, 0.95L);
    const auto tail_ranks = rank_interval(Quantile::of_percent(90), 200, 0.95L);
    for (int round = 0; round < kRounds; ++round) {
        const Values small = sample(20, kMean, kDeviation);
        const Values other = sample(30, 1.1L * kMean, 3 * kDeviation);
        Values large = sample(200, kMean, kDeviation);
        // The integers are the values rounded down: half a unit below.
        student.hits += holds(*mean_interval(moments_of(small), MeanBasis::kStudent, 0.95L), kMean - 0.5L);
        normal.hits += holds(*mean_interval(moments_of(large), MeanBasis::kNormal, 0.95L), kMean - 0.5L);
        difference.hits +=
            holds(difference_interval(*mean_contrast(moments_of(small), moments_of(other)), 0.95L), 0.1L * kMean);
        ratio.hits += holds(*ratio_interval(*mean_contrast(moments_of(small), moments_of(other)), 0.95L), 1.1L);
        std::sort(large.begin(), large.end());
        const auto ranks_hold = [&](const std::optional<RankInterval>& ranks, long double truth) {
            return holds({static_cast<long double>(large[ranks->low]), static_cast<long double>(large[ranks->high])},
                         truth);
        };
        median.hits += ranks_hold(median_ranks, kMean);
        tail.hits += ranks_hold(tail_ranks, kMean + kDeviation * normal_quantile(0.9L));
    }
    for (const CountEntry& entry : {student, normal, median, tail, difference, ratio}) {
        EXPECT_GE(entry.hits, kRounds * 94 / 100) << entry.name;
        EXPECT_LE(entry.hits, kRounds * 96 / 100) << entry.name;
        RecordProperty(entry.name, entry.hits);
    }
}

}  // namespace
}  // namespace perfleet
