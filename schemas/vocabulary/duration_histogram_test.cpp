#include "schemas/vocabulary/duration_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace perfleet {
namespace {

constexpr auto kBounds = DurationHistogram::kBoundsNs;

TEST(DurationHistogram, BoundsAscend) {
    EXPECT_TRUE(std::is_sorted(kBounds.begin(), kBounds.end(), std::less_equal<>{}));
}

TEST(DurationHistogram, ABoundBelongsToItsBucketAndTheNextDurationToTheNext) {
    for (std::size_t i = 0; i < kBounds.size(); ++i) {
        DurationHistogram histogram;
        histogram.observe(kBounds[i]);
        histogram.observe(kBounds[i] + 1);
        const DurationHistogram counts = histogram;
        EXPECT_EQ(counts.in_bucket[i], 1U);
        EXPECT_EQ(counts.in_bucket[i + 1], 1U);
        EXPECT_EQ(counts.sum_ns, 2 * kBounds[i] + 1);
    }
}

TEST(DurationHistogram, WhatIsLongerThanEveryBoundIsCounted) {
    DurationHistogram histogram;
    histogram.observe(0);
    histogram.observe(~0ULL);
    const DurationHistogram counts = histogram;
    EXPECT_EQ(counts.in_bucket.front(), 1U);
    EXPECT_EQ(counts.in_bucket.back(), 1U);
    EXPECT_EQ(std::accumulate(counts.in_bucket.begin(), counts.in_bucket.end(), std::uint64_t{0}), 2U);
}

}  // namespace
}  // namespace perfleet
