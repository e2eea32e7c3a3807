// Validity warnings: each appears where there is reason for it, and hardly ever elsewhere. Seeds are fixed.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <string>

#include "query-engine/statistic/latency/latency_source.h"
#include "query-engine/statistic/number/random_stream.h"
#include "query-engine/statistic/number/validity_warning.h"

namespace perfleet::latency_validity_test {
namespace {

using Values = std::vector<std::uint64_t>;

double normal(RandomStream& random) {
    return std::sqrt(-2 * std::log(random.unit())) * std::cos(2 * 3.14159265358979323846 * random.unit());
}

Values drawn(std::size_t count, const std::function<double(std::size_t)>& draw) {
    Values values(count);
    for (std::size_t i = 0; i < count; ++i) {
        values[i] = static_cast<std::uint64_t>(draw(i));
    }
    return values;
}

// The subject of a warning.
constexpr std::array<std::pair<const char*, const char*>, 7> kSorts{{
    {"too few", "values; below"},
    {"autocorrelation", "depend on the one before"},
    {"runs", "not in random order"},
    {"drift", "drifts"},
    {"modes", "modes, near"},
    {"outliers", "values lie above"},
    {"timer", "timer"},
}};

std::map<std::string, int> sorts_of(const Values& values) {
    std::map<std::string, int> found;
    for (const std::string& validity_warning : validity_warnings_of("x", values)) {
        for (const auto& [sort, words] : kSorts) {
            found[sort] += validity_warning.find(words) != std::string::npos ? 1 : 0;
        }
    }
    return found;
}

TEST(ValidityWarnings, AppearWhereThereIsReason) {
    RandomStream random{2'026};
    const auto clean = [&](std::size_t) { return 100'000 + 1'000 * normal(random); };
    EXPECT_EQ(sorts_of(drawn(29, clean))["too few"], 1);
    EXPECT_EQ(sorts_of(drawn(30, clean))["too few"], 0);
    double place = 0;
    const Values wander = drawn(500, [&](std::size_t) {
        place = 0.7 * place + normal(random);
        return 100'000 + 1'000 * place;
    });
    EXPECT_EQ(sorts_of(wander)["autocorrelation"], 1);
    EXPECT_EQ(sorts_of(wander)["runs"], 1);
    EXPECT_EQ(sorts_of(drawn(500, [&](std::size_t i) { return clean(i) + 5 * static_cast<double>(i); }))["drift"], 1);
    // Every second value comes later: only the runs and the correlation show it.
    const Values alternating = drawn(200, [&](std::size_t i) { return clean(i) + (i % 2 == 0 ? 0 : 4'000); });
    EXPECT_EQ(sorts_of(alternating)["autocorrelation"], 1);
    EXPECT_EQ(sorts_of(alternating)["drift"], 0);
    EXPECT_EQ(
        sorts_of(drawn(500, [&](std::size_t i) { return clean(i) + (random.below(4) == 0 ? 9'000 : 0); }))["modes"], 1);
    EXPECT_EQ(sorts_of(drawn(500, [&](std::size_t i) { return i == 250 ? 300'000 : clean(i); }))["outliers"], 1);
    // Steps of 41: half of the values within two of them.
    EXPECT_EQ(sorts_of(drawn(500, [&](std::size_t) { return 41 * std::floor(100 + normal(random)); }))["timer"], 1);
    EXPECT_EQ(sorts_of(Values(50, 7))["timer"], 1);
    EXPECT_EQ(sorts_of(drawn(100, [&](std::size_t) { return 5.0 + static_cast<double>(random.below(4)); }))["timer"],
              1);
}

// Many values reveal effects that are too small to matter: a step of the clock in a hundred values, half a percent of
// the median.
TEST(ValidityWarnings, AreOfEffectsThatMatter) {
    RandomStream random{2'027};
    const auto narrow = [&](std::size_t) { return 100'000 + 100 * normal(random); };
    const Values risen = drawn(20'000, [&](std::size_t i) { return narrow(i) + (i < 10'000 ? 0 : 500); });
    ASSERT_LT(drift_of(risen)->p_value, 1e-6);
    EXPECT_EQ(sorts_of(risen)["drift"], 0) << "half a percent";
    EXPECT_EQ(sorts_of(risen)["autocorrelation"], 0);
    EXPECT_EQ(sorts_of(risen)["runs"], 0);
    const auto wide = [&](std::size_t) { return 100'000 + 30'000 * normal(random); };
    const Values hardly = drawn(20'000, [&](std::size_t i) { return wide(i) + (i < 10'000 ? 0 : 2'000); });
    ASSERT_LT(drift_of(hardly)->p_value, 1e-3);
    EXPECT_EQ(sorts_of(hardly)["drift"], 0) << "48 against 52 % of pairs";
    EXPECT_EQ(sorts_of(drawn(20'000, [&](std::size_t i) { return wide(i) + (i < 10'000 ? 0 : 20'000); }))["drift"], 1);
}

// Of series of independent values of one normal distribution, at most one in a hundred gets a warning of any one kind.
TEST(ValidityWarnings, AreRareOnCleanData) {
    constexpr int kSeries = 500;
    RandomStream random{1};
    for (const std::size_t count : {30U, 300U}) {
        std::map<std::string, int> found;
        for (int i = 0; i < kSeries; ++i) {
            for (const auto& [sort, times] :
                 sorts_of(drawn(count, [&](std::size_t) { return 100'000 + 1'000 * normal(random); }))) {
                found[sort] += times;
            }
        }
        for (const auto& [sort, words] : kSorts) {
            EXPECT_LE(found[sort], kSeries / 100) << sort << " of " << count << " values";
            RecordProperty(std::string{sort} + " of " + std::to_string(count), found[sort]);
        }
    }
}

SessionRecord session_with(std::vector<std::pair<std::string, std::string>> labels) {
    SessionRecord session;
    session.labels = std::move(labels);
    return session;
}

TEST(ValidityWarnings, OfTheMachineStandInTheLabels) {
    EXPECT_FALSE(unsteady_frequency(session_with({})));
    EXPECT_FALSE(unsteady_frequency(
        session_with({{"frequency_khz", "2400000"}, {"governor", "performance"}, {"turbo", "off"}})));
    const auto unsteady = unsteady_frequency(
        session_with({{"frequency_khz", "800000-2400000"}, {"governor", "powersave"}, {"turbo", "on"}}));
    ASSERT_TRUE(unsteady);
    EXPECT_NE(unsteady->find("(governor powersave, turbo on, CPUs at 800000-2400000 kHz)"), std::string::npos);
    std::vector<std::pair<std::string, std::string>> all;
    for (const char* key :
         {"machine", "kernel", "clock_hz", "frequency_khz", "governor", "turbo", "compiler_flags", "dead_code",
          "warmup", "data_size", "data_order", "overhead", "preemption", "noise", "parallel_start"}) {
        auto without = all;
        all.emplace_back(key, "x");
        const auto missing = missing_metadata(session_with(without));
        ASSERT_TRUE(missing) << key;
        EXPECT_NE(missing->find(key), std::string::npos) << *missing;
    }
    EXPECT_FALSE(missing_metadata(session_with(all)));
}

}  // namespace
}  // namespace perfleet::latency_validity_test
