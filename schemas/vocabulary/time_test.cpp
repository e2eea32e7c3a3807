#include "schemas/vocabulary/time.h"

#include <gtest/gtest.h>

namespace perfleet {
namespace {

TEST(Bucket, ChangesAtTheFullHour) {
    // 2026-01-01T00:00:00Z is 1767225600 s, hour 490896.
    const std::int64_t new_year_ns = 1'767'225'600 * kNsPerSecond;
    EXPECT_EQ(bucket_of(UtcNs{new_year_ns}).value, 490'896U);
    EXPECT_EQ(bucket_of(UtcNs{new_year_ns - 1}).value, 490'895U);
    EXPECT_EQ(bucket_of(UtcNs{new_year_ns + 3600 * kNsPerSecond}).value, 490'897U);
}

TEST(Bucket, MomentsBefore1970FallIntoTheFirst) {
    EXPECT_EQ(bucket_of(UtcNs{-1}).value, 0U);
    EXPECT_EQ(bucket_of(UtcNs{-7200 * kNsPerSecond}).value, 0U);
}

}  // namespace
}  // namespace perfleet
