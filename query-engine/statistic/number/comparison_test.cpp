// Comparisons held against brute force, and against what simulated samples of known distributions let expect.
#include "query-engine/statistic/number/comparison.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "query-engine/statistic/number/cluster.h"
#include "query-engine/statistic/number/dependence.h"
#include "query-engine/statistic/number/distribution.h"
#include "query-engine/statistic/number/random_stream.h"
#include "query-engine/statistic/number/share_comparison.h"
#include "query-engine/statistic/number/testing/run_simulation.h"
#include "query-engine/statistic/number/value_comparison.h"

namespace perfleet {
namespace {

using Values = std::vector<std::uint64_t>;

ComparedRun run_of(Values values) {
    ComparedRun run;
    run.moments.add(values);
    std::sort(values.begin(), values.end());
    run.values = std::move(values);
    return run;
}

TEST(Comparison, RatioOfIntervalsEndsWhereTheDifferenceToItsMultipleDoes) {
    const Interval first{80, 130};
    const Interval second{100, 170};
    const auto ratio = ratio_of(100, first, 120, second);
    ASSERT_TRUE(ratio);
    const auto scaled = [&](long double r) { return difference_of(r * 100, {r * 80, r * 130}, 120, second); };
    EXPECT_NEAR(static_cast<double>(scaled(ratio->low).low), 0, 1e-12);
    EXPECT_NEAR(static_cast<double>(scaled(ratio->high).high), 0, 1e-12);
    // The first may be far greater than it seems; then the lower end is near 0, and there.
    const auto wide = ratio_of(100, {80, 250}, 120, second);
    ASSERT_TRUE(wide);
    EXPECT_NEAR(static_cast<double>(difference_of(wide->low * 100, {wide->low * 80, wide->low * 250}, 120, second).low),
                0, 1e-12);
    EXPECT_FALSE(ratio_of(100, {0, 130}, 120, second));
}

TEST(Comparison, DetectableChangeIsTheTextbooksForTwoMeans) {
    // n = 30 a side, sd 5: (z(0.975) + z(0.8)) × 5 × √(2 ÷ 30) = 3.617.
    const long double half_width = normal_quantile(0.975L) * 5 * std::sqrt(2.0L / 30);
    EXPECT_NEAR(static_cast<double>(detectable_change(half_width, 0.95L)), 3.617, 0.001);
}

TEST(RankShift, EqualsTheMedianOfAllPairs) {
    RandomStream random{3};
    for (int round = 0; round < 200; ++round) {
        Values first(1 + random.below(12));
        Values second(1 + random.below(12));
        const std::uint64_t reach = 1ULL << random.below(64);
        for (Values* values : {&first, &second}) {
            std::generate(values->begin(), values->end(), [&] { return random.next() % reach; });
            std::sort(values->begin(), values->end());
        }
        std::vector<long double> pairs;
        for (const std::uint64_t a : first) {
            for (const std::uint64_t b : second) {
                pairs.push_back(static_cast<long double>(b) - static_cast<long double>(a));
            }
        }
        std::sort(pairs.begin(), pairs.end());
        const std::size_t half = pairs.size() / 2;
        const long double expected = pairs.size() % 2 == 1 ? pairs[half] : (pairs[half - 1] + pairs[half]) / 2;
        ASSERT_EQ(shift_of(first, second), expected);
    }
}

TEST(RankShift, CompleteSeparationLeavesAnInterval) {
    const auto superiority = superiority_of({{1, 2, 3, 4, 5, 6}}, {{10, 11, 12, 13, 14, 15}}, false);
    ASSERT_TRUE(superiority);
    const Interval interval = superiority_interval(*superiority, 0.95L);
    EXPECT_EQ(interval.high, 1);
    EXPECT_NEAR(static_cast<double>(interval.low), std::pow(0.025, 1.0 / 6), 1e-12);
    EXPECT_FALSE(shift_interval(Values{1, 2, 3}, Values{4, 5, 6}, nullptr, 0.95L));  // C(6, 3) orders are too few
}

TEST(RunPairs, WithOneValueEachAreWelchsTest) {
    const Values before{5, 9, 1, 14, 3};
    const Values after{15, 12, 19, 11};
    std::vector<RunPair> runs(before.size() + after.size());
    Moments first;
    Moments second;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const bool is_before = i < before.size();
        (is_before ? runs[i].before : runs[i].after).add(is_before ? before[i] : after[i - before.size()]);
        (is_before ? first : second).add(is_before ? before[i] : after[i - before.size()]);
    }
    const auto by_runs = mean_contrast(runs);
    const auto plain = mean_contrast(first, second);
    ASSERT_TRUE(by_runs && plain);
    EXPECT_NEAR(static_cast<double>(by_runs->first_variance), static_cast<double>(plain->first_variance), 1e-15);
    EXPECT_NEAR(static_cast<double>(by_runs->degrees), static_cast<double>(plain->degrees), 1e-12);
    EXPECT_EQ(by_runs->covariance, 0);
    EXPECT_FALSE(mean_contrast(std::span{runs}.first(before.size() + 1)));  // one run after
}

TEST(RunPairs, OfTheSameTargetsAreAPairedTest) {
    // Targets differ by far, each by 3 to 5 from itself: t of the differences 3, 4, 5 is 4 ÷ (1 ÷ √3), 2 degrees.
    std::vector<RunPair> runs(3);
    for (std::uint64_t i = 0; i < runs.size(); ++i) {
        runs[i].before.add(1'000 * (i + 1));
        runs[i].after.add(1'000 * (i + 1) + 3 + i);
    }
    const auto means = mean_contrast(runs);
    ASSERT_TRUE(means);
    EXPECT_EQ(means->degrees, 2);
    const Interval interval = difference_interval(*means, 0.95L);
    const double half_width = 4.302652729911275 / std::sqrt(3.0);
    EXPECT_NEAR(static_cast<double>(interval.low), 4 - half_width, 1e-9);
    EXPECT_NEAR(static_cast<double>(interval.high), 4 + half_width, 1e-9);
    EXPECT_NEAR(static_cast<double>(mean_p_value(*means)), 0.020204102886728803, 1e-9);
    // As shares: hits that differ between targets, and by one more after, in each of them.
    std::vector<RunHits> hits;
    for (const std::uint64_t share : {100, 500, 900}) {
        hits.push_back({{share * 100, 100'000}, {share * 100 + 2'000, 100'000}});
    }
    EXPECT_EQ(share_pair(hits).before.degrees, 2);
    EXPECT_EQ(share_pair(hits).before.effect, 1);  // less than chance lets expect
    EXPECT_LT(share_p_value(share_pair(hits).before, share_pair(hits).after), 0.01L);
}

TEST(MeanContrast, EqualValuesAreNoCertainty) {
    const auto side = [](std::uint64_t value, std::size_t count) { return std::vector{run_of(Values(count, value))}; };
    const LatencyFigure mean{LatencyFigureKind::kMean, {}};
    // Two equal values a side are too few for a conclusion.
    EXPECT_FALSE(ValueComparison(side(5, 2), side(6, 2), false).contrast(mean, 0.95L).difference);
    EXPECT_FALSE(ValueComparison(side(5, 2), side(6, 2), false).ranks(0.95L).p_value);
    // Of many, the interval is as wide as a step of the clock leaves it, and holds 0 where they are one step apart.
    const ValueComparison near{side(5, 30), side(6, 30), false};
    EXPECT_EQ(near.contrast(mean, 0.95L).difference->low, 0);
    EXPECT_EQ(near.contrast(mean, 0.95L).difference->high, 2);
    EXPECT_EQ(near.p_value(mean), 1);
    EXPECT_EQ(near.contrast(*parse_figure("median"), 0.95L).difference->low, 0);
}

TEST(ClusteredShares, OfSumsAreThoseOfTheClusters) {
    std::mt19937_64 random{1};
    for (int round = 0; round < 20; ++round) {
        Stratum clusters(2 + random() % 50);
        ClusterSums sums;
        for (HitCount& cluster : clusters) {
            cluster.count = random() % 20;
            cluster.hits = cluster.count == 0 ? 0 : random() % (cluster.count + 1);
            sums.add_count(cluster.count);
            sums.add_hits(cluster.hits, cluster.count);
        }
        const ClusteredShare expected = clustered_share(std::span{&clusters, 1});
        const ClusteredShare share = clustered_share(sums);
        EXPECT_EQ(share.sum.hits, expected.sum.hits);
        EXPECT_EQ(share.sum.count, expected.sum.count);
        EXPECT_EQ(share.degrees, expected.degrees);
        EXPECT_NEAR(static_cast<double>(share.effect), static_cast<double>(expected.effect), 1e-9);
    }
}

TEST(Cluster, AlikeValuesCountAsOne) {
    // 20 clusters of 10 samples each that all are hits or none: worth 20 samples, less what t takes.
    Stratum stratum;
    for (int i = 0; i < 20; ++i) {
        stratum.push_back({i % 2 == 0 ? 10ULL : 0ULL, 10});
    }
    const ClusteredShare alike = clustered_share(std::span{&stratum, 1});
    EXPECT_NEAR(static_cast<double>(alike.effect), 10 * 20.0 / 19, 1e-12);
    EXPECT_EQ(alike.degrees, 19);
    for (HitCount& cluster : stratum) {
        cluster.hits = 5;
    }
    const ClusteredShare even = clustered_share(std::span{&stratum, 1});
    EXPECT_EQ(even.effect, 1);  // never better than independent samples
    const long double widening = student_quantile(0.025L, 19) / normal_quantile(0.025L);
    EXPECT_EQ(effective_count(even, 0.95L), 200) << "slices that don't differ";
    ClusteredShare of_runs = even;
    of_runs.is_of_slices = false;
    EXPECT_NEAR(static_cast<double>(effective_count(of_runs, 0.95L)), static_cast<double>(200 / (widening * widening)),
                1e-9);
    const long double excess = alike.effect * widening * widening - 1;
    EXPECT_NEAR(static_cast<double>(effective_count(alike, 0.95L)),
                static_cast<double>(200 / (1 + excess - 2 / (19 * excess))), 1e-9);
    const Stratum alone{{5, 10}};
    EXPECT_EQ(effective_count(clustered_share(std::span{&alone, 1}), 0.95L), 0);
}

TEST(LatencyFigure, NamesAreReadBack) {
    for (const char* name : {"mean", "median", "p99.9", "max"}) {
        const auto figure = parse_figure(name);
        ASSERT_TRUE(figure) << name;
        EXPECT_EQ(figure_name(*figure), name);
    }
    EXPECT_EQ(figure_name(*parse_figure("p50")), "median");
    for (const char* name : {"", "p", "p101", "99", "average"}) {
        EXPECT_FALSE(parse_figure(name)) << name;
    }
}

// How often at least one line of a comparison reports a difference between samples of one distribution. By runs: values
// of a run have a part in common, and taking them for independent would be wrong in most rounds.
TEST(FalseVerdicts, OfEqualSamplesAreFewerThanFiveInAHundred) {
    constexpr int kRounds = 300;
    RandomStream random{11};
    const auto p_values = [](const ValueComparison& comparison) {
        std::vector<long double> found;
        for (const char* name : {"mean", "median", "p90"}) {
            const LatencyFigure figure = *parse_figure(name);
            if (comparison.contrast(figure, 0.95L).difference) {
                found.push_back(comparison.p_value(figure));
            }
        }
        found.push_back(comparison.ranks(0.95L).p_value.value_or(1));
        return found;
    };
    struct Shape {
        const char* name;
        bool is_by_runs;
        long double (*draw)(RandomStream&);
    };
    const std::vector<Shape> shapes{
        {"normal", false, [](RandomStream& r) { return 1e6L + 5e4L * normal(r); }},
        {"long tail", false, [](RandomStream& r) { return std::exp(9 + normal(r)); }},
        {"ticks of a coarse timer", false, [](RandomStream& r) { return 200.0L + 4 * static_cast<int>(r.below(4)); }},
        {"runs that differ", true, [](RandomStream& r) { return 1e6L + 5e4L * normal(r); }},
    };
    for (const Shape& shape : shapes) {
        int false_verdicts = 0;
        int hits_of_mean = 0;
        for (int round = 0; round < kRounds; ++round) {
            std::size_t number = 0;
            const auto side = [&] {
                std::vector<ComparedRun> runs(shape.is_by_runs ? 8 : 1);
                for (ComparedRun& run : runs) {
                    const long double common = shape.is_by_runs ? 5e4L * normal(random) : 0;
                    Values values(shape.is_by_runs ? 12 : 60);
                    for (std::uint64_t& value : values) {
                        value = static_cast<std::uint64_t>(shape.draw(random) + common);
                    }
                    run = run_of(std::move(values));
                    run.number = number++;
                }
                return runs;
            };
            const ValueComparison comparison{side(), side(), shape.is_by_runs};
            const std::vector<long double> found = p_values(comparison);
            const long double least = *std::min_element(found.begin(), found.end());
            false_verdicts += least * static_cast<long double>(found.size()) < 0.05L ? 1 : 0;
            hits_of_mean += found[0] < 0.05L ? 1 : 0;
        }
        EXPECT_LE(false_verdicts, kRounds * 5 / 100) << shape.name;
        // The mean's own test is neither blind nor rash: 5 % ± 3 standard deviations; less where a step of the clock is
        // more than the deviation of the difference.
        EXPECT_GE(hits_of_mean, shape.name == std::string_view{"ticks of a coarse timer"} ? 1 : kRounds * 5 / 100 - 11)
            << shape.name;
        EXPECT_LE(hits_of_mean, kRounds * 5 / 100 + 11) << shape.name;
        RecordProperty(shape.name, false_verdicts);
    }
}

TEST(FalseVerdicts, OfEqualRunsAreFewerThanFiveInAHundred) {
    RandomStream random{21};
    for (const std::size_t run_count : {2, 4, 8, 16}) {
        constexpr int kRounds = 100;
        int verdicts = 0;
        int of_profiles = 0;
        for (int round = 0; round < kRounds; ++round) {
            verdicts += is_latency_change_shown(run_count, 60, 0, random) ? 1 : 0;
            of_profiles += is_profile_change_shown(run_count, 500, 0, random) ? 1 : 0;
        }
        EXPECT_LE(verdicts, kRounds * 5 / 100 + 6) << run_count;  // 5 %, and not 3 standard deviations more
        EXPECT_LE(of_profiles, kRounds * 5 / 100 + 6) << run_count;
    }
}

// Between 93 and 97 in a hundred of the intervals that are shown hold the true figure; else none is shown, and
// `latency` says why. Three standard errors of 2,000 rounds are 1.5 points.
TEST(Coverage, OfValuesThatDependOnEachOther) {
    RandomStream random{41};
    struct Percent {
        double mean = 0;
        double p90_shown = 0;  // an interval that isn't shown holds nothing
        double p90 = 0;        // of those shown
    };
    const auto held = [&](std::size_t count, long double correlation, int rounds) {
        int mean = 0;
        int shown = 0;
        int p90 = 0;
        for (int round = 0; round < rounds; ++round) {
            const CorrelatedCoverage coverage = correlated_coverage(count, correlation, random);
            mean += coverage.mean ? 1 : 0;
            shown += coverage.is_p90_shown ? 1 : 0;
            p90 += coverage.p90 ? 1 : 0;
        }
        const std::string of = " of " + std::to_string(count) + ", " + std::to_string(correlation);
        testing::Test::RecordProperty("p90 shown" + of, shown);
        testing::Test::RecordProperty("p90 held" + of, p90);
        return Percent{100.0 * mean / rounds, 100.0 * shown / rounds, 100.0 * p90 / std::max(shown, 1)};
    };
    constexpr double kLow = 93 - 1.5;
    constexpr double kHigh = 97 + 1.5;
    for (const std::size_t few : {100U, 300U}) {
        const Percent percent = held(few, 0.9L, 2'000);
        EXPECT_GE(percent.mean, kLow) << few;
        EXPECT_LE(percent.mean, kHigh) << few;
        EXPECT_LE(percent.p90_shown, 0.2) << few << " are worth 5 and 16 independent ones";
    }
    for (const std::size_t enough : {1'000U, 3'000U}) {
        const Percent percent = held(enough, 0.9L, 400);
        EXPECT_GE(percent.mean, 91) << enough;
        EXPECT_GE(percent.p90_shown, 95) << enough;
        EXPECT_GE(percent.p90, 91) << enough;
        EXPECT_LE(percent.p90, 98.5) << enough;
    }
    const Percent independent = held(300, 0, 2'000);
    EXPECT_GE(independent.mean, kLow);
    EXPECT_EQ(independent.p90_shown, 100);
    EXPECT_GE(independent.p90, kLow);
    EXPECT_LE(independent.p90, kHigh);
}

TEST(FalseVerdicts, WithinRunsOfDependentValuesAreRare) {
    constexpr int kRounds = 300;
    RandomStream random{43};
    int equal = 0;
    int changed = 0;
    for (int round = 0; round < kRounds; ++round) {
        equal += is_change_within_run_shown(300, 0.9L, 0, random) ? 1 : 0;
        changed += is_change_within_run_shown(300, 0.9L, 0.02L, random) ? 1 : 0;
    }
    EXPECT_LE(equal, kRounds * 8 / 100);
    EXPECT_GE(changed, kRounds * 90 / 100);
}

TEST(Dependence, IsTheSumOfAutocorrelations) {
    RandomStream random{44};
    constexpr std::size_t kCount = 100'000;
    // (1 + ρ) ÷ (1 − ρ).
    EXPECT_NEAR(static_cast<double>(dependence_of_mean(correlated_values(kCount, 0, random))), 1, 0.05);
    EXPECT_NEAR(static_cast<double>(dependence_of_mean(correlated_values(kCount, 0.5L, random))), 3, 0.2);
    EXPECT_NEAR(static_cast<double>(dependence_of_mean(correlated_values(kCount, 0.9L, random))), 19, 2);
    EXPECT_EQ(dependence_of_mean(correlated_values(kCount, -0.5L, random)), 1);
    EXPECT_EQ(dependence_of_mean(Values(100, 7)), 1);
    EXPECT_EQ(dependence_of_mean(correlated_values(19, 0.9L, random)), 1);
    Values rising(500);
    std::iota(rising.begin(), rising.end(), ~0ULL - 500);
    EXPECT_GT(dependence_of_mean(rising), 20);
}

TEST(TrueVerdicts, OfEightRunsASideAreFound) {
    RandomStream random{22};
    constexpr int kRounds = 100;
    int five = 0;
    int ten = 0;
    int profiles = 0;
    for (int round = 0; round < kRounds; ++round) {
        five += is_latency_change_shown(8, 200, 0.05L, random) ? 1 : 0;
        ten += is_latency_change_shown(8, 200, 0.10L, random) ? 1 : 0;
        profiles += is_profile_change_shown(8, 5'000, 0.10L, random) ? 1 : 0;
    }
    EXPECT_GE(five, kRounds * 80 / 100 - 12);  // 80 %, less 3 standard deviations
    EXPECT_GE(ten, kRounds * 98 / 100);
    EXPECT_GE(profiles, kRounds * 80 / 100 - 12);
}

TEST(TrueVerdicts, AreFoundWhereTheyAreDetectable) {
    constexpr int kRounds = 200;
    RandomStream random{12};
    int found = 0;
    int held = 0;
    for (int round = 0; round < kRounds; ++round) {
        const auto side = [&](long double mean) {
            Values values(100);
            std::generate(values.begin(), values.end(),
                          [&] { return static_cast<std::uint64_t>(mean * (1 + 0.05L * normal(random))); });
            return std::vector{run_of(std::move(values))};
        };
        // Detectable with 80 % chance: 2.802 × 5 % × √(2 ÷ 100).
        const ValueComparison comparison{side(1e6L), side(1e6L * 1.0198L), false};
        const LatencyFigure mean{LatencyFigureKind::kMean, {}};
        found += comparison.p_value(mean) < 0.05L ? 1 : 0;
        const auto interval = comparison.contrast(mean, 0.95L).ratio;
        ASSERT_TRUE(interval);
        held += interval->low <= 1.0198L && 1.0198L <= interval->high ? 1 : 0;
    }
    EXPECT_NEAR(found, kRounds * 0.80, 17);  // 3 standard deviations
    EXPECT_GE(held, kRounds * 95 / 100 - 9);
}

// A function's samples come in bursts of ten: as independent ones they would be news in a third of the rounds and more.
TEST(FalseVerdicts, OfBurstsInHalvesOfARecordingAreRare) {
    constexpr int kRounds = 400;
    constexpr int kBursts = 200;  // a side
    RandomStream random{13};
    int by_slices = 0;
    int as_independent = 0;
    for (int round = 0; round < kRounds; ++round) {
        const auto side = [&] {
            Stratum slices(20);
            for (std::size_t burst = 0; burst < kBursts; ++burst) {
                HitCount& slice = slices[burst / 10];
                slice.count += 10;
                slice.hits += random.below(10) == 0 ? 10 : 0;
            }
            return slices;
        };
        const Stratum first = side();
        const Stratum second = side();
        const ClusteredShare before = clustered_share(std::span{&first, 1});
        const ClusteredShare after = clustered_share(std::span{&second, 1});
        const auto excludes_zero = [](const Contrast& contrast) {
            return contrast.difference->low > 0 || contrast.difference->high < 0 ? 1 : 0;
        };
        by_slices += excludes_zero(share_contrast(before, after, 0.95L));
        as_independent +=
            excludes_zero(share_contrast({before.sum, 1, before.degrees}, {after.sum, 1, after.degrees}, 0.95L));
    }
    EXPECT_LE(by_slices, kRounds * 5 / 100);
    EXPECT_GT(as_independent, kRounds * 33 / 100);
    RecordProperty("by slices", by_slices);
    RecordProperty("as independent", as_independent);
}

// Periods of samples are skewed: most are short, few are many times as long.
struct Periods {
    const char* name;
    long double (*draw)(RandomStream& random);
    std::uint64_t samples;
    std::uint64_t share_permille;
    // In percent of 2,000 draws: three standard errors beyond 93 and 97; more is for few samples, and few that
    // outweigh.
    double held_max = 98.2;
};

long double pareto(RandomStream& random) {  // of shape 2: its variance has no bound
    return 1'000 / std::sqrt(static_cast<long double>(random.unit()));
}

class WeightedSamples : public testing::TestWithParam<Periods> {};

TEST_P(WeightedSamples, HaveIntervalsThatHoldTheShareAndFewFalseVerdicts) {
    constexpr int kRounds = 2'000;
    const Periods& periods = GetParam();
    const long double true_share = static_cast<long double>(periods.share_permille) / 1'000;
    RandomStream random{17};
    int held = 0;
    int held_as_equal = 0;
    int difference_held = 0;
    for (int round = 0; round < kRounds; ++round) {
        const auto side = [&] {
            Stratum slices(20);
            long double squares = 0;
            long double sum = 0;
            for (std::uint64_t i = 0; i < periods.samples; ++i) {
                const std::uint64_t weight = 1 + static_cast<std::uint64_t>(periods.draw(random));
                HitCount& slice = slices[i * slices.size() / periods.samples];
                slice.count += weight;
                slice.hits += random.below(1'000) < periods.share_permille ? weight : 0;
                sum += static_cast<long double>(weight);
                squares += static_cast<long double>(weight) * static_cast<long double>(weight);
            }
            return clustered_share(std::span{&slices, 1}, squares / sum);
        };
        const ClusteredShare before = side();
        const ClusteredShare after = side();
        const auto holds = [&](const ClusteredShare& share) {
            const Interval interval = share_interval(share.share(), effective_count(share, 0.95L), 0.95L);
            return interval.low <= true_share && true_share <= interval.high ? 1 : 0;
        };
        held += holds(before) + holds(after);
        ClusteredShare equal{before.sum, 1, before.degrees};
        equal.weight_of_one = static_cast<long double>(before.sum.count) / static_cast<long double>(periods.samples);
        held_as_equal += 2 * holds(equal);
        difference_held += share_p_value(before, after) >= 0.05L ? 2 : 0;
    }
    const auto percent = [](int rounds) { return 100.0 * rounds / (2 * kRounds); };
    RecordProperty("held", std::to_string(percent(held)));
    RecordProperty("held as equal", std::to_string(percent(held_as_equal)));
    RecordProperty("difference held", std::to_string(percent(difference_held)));
    EXPECT_GE(percent(held), 93);
    EXPECT_LE(percent(held), periods.held_max);
    EXPECT_GE(percent(difference_held), 93);
    EXPECT_LE(percent(difference_held), periods.held_max + 0.5);
    EXPECT_LT(held_as_equal, held) << "samples of different weights aren't worth as many equal ones";
}

INSTANTIATE_TEST_SUITE_P(
    Coverage, WeightedSamples,
    testing::Values(Periods{"pareto", pareto, 1'000, 300, 97}, Periods{"pareto_half", pareto, 1'000, 500, 97},
                    Periods{"pareto_tenth", pareto, 1'000, 100}, Periods{"exponential", exponential, 1'000, 300, 97},
                    Periods{"exponential_tenth", exponential, 1'000, 100, 97},
                    Periods{"log_normal", lognormal, 1'000, 300, 97},
                    Periods{"log_normal_tenth", lognormal, 1'000, 100, 97}, Periods{"few", lognormal, 40, 300, 99},
                    Periods{"few_tenth", pareto, 40, 100, 99.5}),
    [](const auto& one) { return std::string{one.param.name}; });

// A phase makes slices differ a little: what is taken for chance must not make intervals too narrow.
TEST(Coverage, OfSharesThatDifferBetweenSlices) {
    constexpr int kRounds = 2'000;
    RandomStream random{19};
    for (const long double spread : {0.02L, 0.05L, 0.1L}) {
        int held = 0;
        for (int round = 0; round < kRounds; ++round) {
            Stratum slices(20);
            for (HitCount& slice : slices) {
                const long double share = std::clamp(0.3L + spread * normal(random), 0.0L, 1.0L);
                slice.count = 50;
                for (int i = 0; i < 50; ++i) {
                    slice.hits += random.unit() < share ? 1 : 0;
                }
            }
            const ClusteredShare share = clustered_share(std::span{&slices, 1});
            const Interval interval = share_interval(share.share(), effective_count(share, 0.95L), 0.95L);
            held += interval.low <= 0.3L && 0.3L <= interval.high ? 1 : 0;
        }
        RecordProperty("held of " + std::to_string(static_cast<double>(spread)), held);
        EXPECT_GE(held, kRounds * 93 / 100) << static_cast<double>(spread);
        EXPECT_LE(held, kRounds * 97 / 100) << static_cast<double>(spread);
    }
}

TEST(ShareComparison, OneOfManyThousandIsFoundAndItsIntervalHoldsIt) {
    const auto side = [](std::uint64_t hits) {
        Stratum slices;
        for (int i = 0; i < 20; ++i) {
            slices.push_back({hits + (i % 2 == 0 ? 3 : 0), 500});
        }
        return clustered_share(std::span{&slices, 1});
    };
    const auto before = side(50);
    const auto after = side(65);  // 3 points more
    EXPECT_LT(share_p_value(before, after), 1e-5L);
    const Interval interval = *share_contrast(before, after, 0.95L).difference;
    EXPECT_LT(interval.low, 0.03L);
    EXPECT_GT(interval.high, 0.03L);
    EXPECT_GT(share_p_value(before, after, 0.03L), 0.5L);
    EXPECT_EQ(share_p_value(before, before), 1);
}

TEST(ShareComparison, PValueIsWhereItsIntervalsPart) {
    RandomStream random{11};
    constexpr int kRounds = 400;
    int between = 0;
    for (int round = 0; round < kRounds; ++round) {
        // Shares from none to all, counts from few to millions, slices alike or not, one slice more than none or many.
        const auto side = [&](long double share) {
            const std::uint64_t count = 20 + random.below(std::uint64_t{1} << (5 + random.below(16)));
            const auto hits = static_cast<std::uint64_t>(std::min(1.0L, share) * static_cast<long double>(count));
            return ClusteredShare{{std::min(hits, count), count},
                                  random.below(3) == 0 ? 1 : 1 + 9 * random.unit(),
                                  random.below(8) == 0 ? 1 : static_cast<long double>(1 + random.below(40))};
        };
        const long double share = std::pow(10, -5 * random.unit());
        const auto before = side(share);
        const auto after = side(share * (1 + std::pow(10, -2 * random.unit()) * (2 * random.unit() - 1)));
        const long double difference = random.below(2) == 0 ? 0 : share * (random.unit() - 0.5L);
        const auto interval_at = [&](long double confidence) {
            return share_contrast(before, after, confidence).difference;
        };
        const long double expected = p_value_from(interval_at, difference);
        const long double found = share_p_value(before, after, difference);
        // Bisection ends up to a step of 3.3e-5 above; its confidence of nearly 1 has fewer digits.
        const long double loss = 1e-6L + 3e-19L / expected;
        EXPECT_GE(expected, found * (1 - loss)) << round;
        EXPECT_LE(expected, found * (1 + 3.4e-5L + loss)) << round;
        if (difference == 0 && found > kPValueMin && found < 0.99L) {
            EXPECT_TRUE(share_p_value_is_below(before, after, found * 1.001L));
            EXPECT_FALSE(share_p_value_is_below(before, after, found * 0.999L));
        }
        between += found > kPValueMin && found < 1 ? 1 : 0;
    }
    EXPECT_GT(between, kRounds / 4);
}

TEST(ShareComparison, AFewSamplesOfManyHaveAPValue) {
    for (std::uint64_t hits = 0; hits < 12; ++hits) {
        for (const std::uint64_t count : {hits + 1, std::uint64_t{100}, std::uint64_t{5'000'000}}) {
            for (const long double degrees : {1.0L, 2.0L, 19.0L, 1e6L}) {
                const ClusteredShare before{{hits, count}, 1, degrees};
                const ClusteredShare after{{0, count}, 1, degrees};
                const long double p_value = share_p_value(before, after);
                EXPECT_TRUE(p_value > 0 && p_value <= 1) << hits << " of " << count << ", " << degrees;
            }
        }
    }
    EXPECT_EQ(share_p_value({{5, 10}, 1, 0}, {{1, 10}, 1, 9}), 1);  // one slice has no interval
    EXPECT_FALSE(share_p_value_is_below({{5, 10}, 1, 0}, {{1, 10}, 1, 9}, 0.9L));
}

}  // namespace
}  // namespace perfleet
