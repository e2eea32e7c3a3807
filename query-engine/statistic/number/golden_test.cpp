// Held against NumPy and SciPy: tests/golden/statistics/make_golden.py made the same values and wrote their figures.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "query-engine/statistic/number/cluster.h"
#include "query-engine/statistic/number/comparison.h"
#include "query-engine/statistic/number/description.h"
#include "query-engine/statistic/number/distribution.h"
#include "query-engine/statistic/number/rank_search.h"
#include "query-engine/statistic/number/rank_shift.h"
#include "tests/golden/golden_file.h"

namespace perfleet {
namespace {

using Json = nlohmann::json;

constexpr double kRelative = 1e-12;

void expect_near(long double ours, const Json& theirs, const std::string& what, double relative = kRelative,
                 double scale = 0) {
    const auto expected = theirs.get<double>();
    EXPECT_LE(std::abs(static_cast<double>(ours) - expected), relative * std::max(std::abs(expected), scale))
        << what << ": " << static_cast<double>(ours) << " and " << expected;
}

// As make_golden.py's values().
std::vector<std::uint64_t> values_of(std::uint64_t seed, std::uint64_t count, const std::string& shape) {
    std::vector<std::uint64_t> values;
    std::uint64_t state = seed;
    for (std::uint64_t i = 0; i < count; ++i) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        const std::uint64_t raw = state >> 33;
        if (shape == "uniform") {
            values.push_back(raw);
        } else if (shape == "narrow") {
            values.push_back(1'000'000'000'000 + raw % 7);
        } else if (shape == "ties") {
            values.push_back(raw % 5);
        } else if (shape == "tail") {
            values.push_back(100 + (1ULL << (raw % 40)));
        } else if (shape == "modes") {
            values.push_back((raw % 3 != 0 ? 1000 : 5000) + raw % 97);
        } else {
            values.push_back(2000 + 3 * i + raw % 50);
        }
    }
    return values;
}

Json figures() { return Json::parse(golden_file("statistics/figures.json")); }

TEST(NumberGolden, SummariesAgreeWithNumPyAndSciPy) {
    std::vector<Quantile> asked;
    for (const char* text : {"1", "25", "50", "90", "95", "99", "99.9"}) {
        asked.push_back(*parse_percentile(text));
    }
    const Json all = figures();
    ASSERT_FALSE(all.at("cases").empty());
    for (const Json& one : all.at("cases")) {
        const Json& theirs = one.at("summary");
        const auto values = values_of(one.at("seed"), one.at("count"), one.at("shape"));
        const auto ours = describe(pieces_of(values), asked, 0.95L);
        ASSERT_TRUE(ours.ok());
        const std::string name = one.at("shape").get<std::string>() + " " + std::to_string(values.size());
        EXPECT_EQ(ours->moments.min(), theirs.at("min").get<std::uint64_t>()) << name;
        EXPECT_EQ(ours->moments.max(), theirs.at("max").get<std::uint64_t>()) << name;
        expect_near(*ours->moments.mean(), theirs.at("mean"), name + " mean");
        expect_near(ours->median, theirs.at("median"), name + " median");
        expect_near(ours->deviation, theirs.at("deviation"), name + " deviation");
        for (const DescribedPercentile& percentile : ours->percentiles) {
            const std::string key = percentile_name(percentile.quantile).substr(1);
            if (const auto between = theirs.at("type7").find(key); between != theirs.at("type7").end()) {
                expect_near(percentile.between, *between, name + " p" + key);
            }
            if (const auto nearest = theirs.at("nearest").find(key); nearest != theirs.at("nearest").end()) {
                EXPECT_EQ(percentile.nearest, nearest->get<std::uint64_t>()) << name << " p" << key;
            }
        }
        if (values.size() > 1) {
            expect_near(*ours->moments.variance(), theirs.at("variance"), name + " variance");
            expect_near(*ours->moments.standard_deviation(), theirs.at("sd"), name + " sd");
            const auto student = mean_interval(ours->moments, MeanBasis::kStudent, 0.95L);
            const auto normal = mean_interval(ours->moments, MeanBasis::kNormal, 0.90L);
            const double scale = theirs.at("sd").get<double>();
            expect_near(student->low, theirs.at("t95")[0], name + " t low", kRelative, scale);
            expect_near(student->high, theirs.at("t95")[1], name + " t high", kRelative, scale);
            expect_near(normal->low, theirs.at("z90")[0], name + " z low", kRelative, scale);
            expect_near(normal->high, theirs.at("z90")[1], name + " z high", kRelative, scale);
        }
    }
}

TEST(NumberGolden, DistributionsAgreeWithSciPy) {
    const Json theirs = figures();
    for (const Json& one : theirs.at("normal")) {
        expect_near(normal_quantile(one[0].get<double>()), one[1], "normal " + one.dump(), kRelative, 1e-3);
    }
    for (const Json& one : theirs.at("student")) {
        expect_near(student_quantile(one[0].get<double>(), one[1].get<double>()), one[2], "student " + one.dump());
    }
    for (const Json& one : theirs.at("binomial")) {
        expect_near(binomial_probability(one[0], one[1], one[2].get<double>()), one[3], "binomial " + one.dump());
    }
}

TEST(NumberGolden, ComparisonsAgreeWithSciPy) {
    const Json all = figures();
    ASSERT_FALSE(all.at("pairs").empty());
    for (const Json& one : all.at("pairs")) {
        const std::string shape = one.at("shape");
        auto first = values_of(3, one.at("count"), shape);
        auto second = values_of(4, one.at("other"), shape);
        for (std::uint64_t& value : second) {
            value += shape == "ties" ? 0 : 10;
        }
        Moments first_moments;
        Moments second_moments;
        first_moments.add(first);
        second_moments.add(second);
        const std::string name = shape + " " + std::to_string(first.size());
        const auto means = mean_contrast(first_moments, second_moments);
        ASSERT_TRUE(means);
        const Interval difference = difference_interval(*means, 0.95L);
        const double scale = static_cast<double>(difference.high - difference.low);
        expect_near(difference.low, one.at("difference")[0], name + " low", kRelative, scale);
        expect_near(difference.high, one.at("difference")[1], name + " high", kRelative, scale);
        expect_near(mean_p_value(*means), one.at("welch_p"), name + " Welch's p", 1e-10);
        std::sort(first.begin(), first.end());
        std::sort(second.begin(), second.end());
        expect_near(shift_of(first, second), one.at("shift"), name + " shift", kRelative, 1);
        const auto superiority = superiority_of({first}, {second}, false);
        ASSERT_TRUE(superiority);
        expect_near(superiority_p_value(*superiority), one.at("munzel_p"), name + " Brunner and Munzel", 1e-7);
        const RankTest test = rank_test(first, second);
        expect_near(test.u, one.at("u"), name + " u");
        expect_near(test.p_value, one.at("p"), name + " p", 1e-10);
    }
}

// Differences are those of the whole numbers, and not of rounded means.
TEST(NumberGolden, ComparisonsNearTwoToThe63AreThoseOfSmallValues) {
    for (const char* shape : {"ties", "uniform", "drift"}) {
        const auto contrast_of = [&](std::uint64_t added) {
            auto first = values_of(3, 41, shape);
            auto second = values_of(4, 37, shape);
            for (std::uint64_t& value : first) {
                value += added;
            }
            for (std::uint64_t& value : second) {
                value += added + 1;
            }
            Moments before;
            Moments after;
            before.add(first);
            after.add(second);
            return *mean_contrast(before, after);
        };
        const auto small = contrast_of(0);
        const auto large = contrast_of(1ULL << 63U);
        const Interval expected = difference_interval(small, 0.95L);
        const Interval difference = difference_interval(large, 0.95L);
        const long double width = expected.high - expected.low;
        EXPECT_NEAR(static_cast<double>((difference.low - expected.low) / width), 0, 1e-12) << shape;
        EXPECT_NEAR(static_cast<double>((difference.high - expected.high) / width), 0, 1e-12) << shape;
        EXPECT_NEAR(static_cast<double>(mean_p_value(large) / mean_p_value(small)), 1, 1e-9) << shape;
    }
}

TEST(NumberGolden, ShareIntervalsAgreeWithSciPy) {
    const Json all = figures();
    for (const Json& one : all.at("shares")) {
        const auto count = one[1].get<double>();
        const Interval interval = share_interval(one[0].get<double>() / count, count, one[2].get<double>());
        // SciPy looks for the ends to 2e-12.
        expect_near(interval.low, one[3], "low " + one.dump(), 1e-9, 4e-3);
        expect_near(interval.high, one[4], "high " + one.dump(), 1e-9, 4e-3);
    }
}

TEST(NumberGolden, ShareIntervalsOfOneAndOfNoneAreThoseOfTheirFormulas) {
    for (const double count : {1.0, 10.0, 1'000.0, 1e6}) {
        for (const double confidence : {0.9, 0.95, 0.9999}) {
            const double tail = (1 - confidence) / 2;
            const std::string name = std::to_string(count) + " at " + std::to_string(confidence);
            const Interval of_one = share_interval(1.0L / count, count, confidence);
            expect_near(of_one.low, -std::expm1(std::log1p(-tail) / count), "one of " + name);
            const Interval of_none = share_interval(0, count, confidence);
            EXPECT_EQ(of_none.low, 0);
            expect_near(of_none.high, -std::expm1(std::log(tail) / count), "none of " + name);
        }
    }
}

}  // namespace
}  // namespace perfleet
