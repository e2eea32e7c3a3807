// Numbers of samples against those that profilers write estimates from.
#include "target-collector/intake/pprof/sample_numbers.h"

#include <gtest/gtest.h>

#include <cmath>

namespace perfleet::sample_numbers_test {
namespace {

PprofProfile profile_of(std::vector<PprofProfile::ValueType> types, PprofProfile::ValueType period_type,
                        std::int64_t period) {
    PprofProfile profile;
    profile.value_types = std::move(types);
    profile.period_type = period_type;
    profile.period = period;
    return profile;
}

std::uint64_t number(const PprofProfile& profile, std::vector<std::int64_t> values, std::size_t type) {
    return SampleNumbers{profile}.of({{}, std::move(values), {}}, type);
}

TEST(SampleNumbers, AreThoseOfATypeOfSamplesForAllTypes) {
    const PprofProfile profile =
        profile_of({{"samples", "count"}, {"wall", "nanoseconds"}}, {"wall", "nanoseconds"}, 1'000);
    EXPECT_EQ(number(profile, {3, 700}, 0), 3U);
    EXPECT_EQ(number(profile, {3, 700}, 1), 3U) << "not by the period";
    EXPECT_EQ(number(profile, {-3, -700}, 1), 3U) << "of a difference of profiles";
    EXPECT_EQ(number(profile, {3, 0}, 1), 0U);
    EXPECT_EQ(number(profile, {0, 700}, 1), kUnknownSamples);
}

TEST(SampleNumbers, OfAnExportAreThoseOfEachEvent) {
    const PprofProfile profile = profile_of(
        {{"cycles:samples", "count"}, {"cycles", "cycles"}, {"faults:samples", "count"}, {"faults", "events"}}, {}, 0);
    for (std::size_t type = 0; type < 4; ++type) {
        EXPECT_EQ(number(profile, {2, 900, 5, 70}, type), type < 2 ? 2U : 5U);
    }
}

TEST(SampleNumbers, ComeFromThePeriodOfATypeForAllTypes) {
    const PprofProfile profile =
        profile_of({{"contentions", "count"}, {"delay", "nanoseconds"}}, {"contentions", "count"}, 5);
    EXPECT_EQ(number(profile, {35, 123'456}, 1), 7U);
    EXPECT_EQ(number(profile, {1, 123'456}, 0), 1U) << "at least one";
    EXPECT_EQ(number(profile_of({{"cpu", "ns"}}, {"wall", "ns"}, 5), {35}, 0), kUnknownSamples);
}

// runtime/pprof and pprof's scaleHeapSample(): of n sampled objects of one size n ÷ (1 − e^(−size ÷ period)) are
// written, and as many times that size.
TEST(SampleNumbers, OfHeapsUndoTheCorrectionOfSampling) {
    const PprofProfile profile = profile_of(
        {{"alloc_objects", "count"}, {"alloc_space", "bytes"}, {"inuse_objects", "count"}, {"inuse_space", "bytes"}},
        {"space", "bytes"}, 524'288);
    for (const std::int64_t size : {16, 100, 4'096, 524'288, 8 << 20}) {
        for (const std::int64_t sampled : {1, 2, 40}) {
            const double scale = 1 / (1 - std::exp(-static_cast<double>(size) / 524'288));
            const auto objects = static_cast<std::int64_t>(static_cast<double>(sampled) * scale);
            const auto space = static_cast<std::int64_t>(static_cast<double>(sampled * size) * scale);
            for (const std::size_t type : {0U, 1U}) {
                EXPECT_EQ(number(profile, {objects, space, 0, 0}, type), static_cast<std::uint64_t>(sampled)) << size;
                EXPECT_EQ(number(profile, {0, 0, objects, space}, type + 2), static_cast<std::uint64_t>(sampled));
            }
            EXPECT_EQ(number(profile, {objects, space, 0, 0}, 3), 0U) << "all are freed";
        }
    }
    const PprofProfile all = profile_of({{"objects", "count"}, {"space", "bytes"}}, {"space", "bytes"}, 1);
    EXPECT_EQ(number(all, {12, 48}, 1), 12U) << "a period of 1 byte samples each object";
    EXPECT_EQ(number(profile_of({{"space", "bytes"}}, {"space", "bytes"}, 512), {4'096}, 0), kUnknownSamples);
}

}  // namespace
}  // namespace perfleet::sample_numbers_test
