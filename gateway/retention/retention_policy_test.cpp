#include "gateway/retention/retention_policy.h"

#include <gtest/gtest.h>

namespace perfleet {
namespace {

constexpr BucketNumber kNow{480'000};
constexpr UtcNs kHalfPast{(std::int64_t{kNow.value} * kBucketDurationS + 1'800) * kNsPerSecond};

std::vector<std::uint32_t> dropped(const RetentionPolicy& policy, const std::vector<BucketSize>& stored,
                                   UtcNs now = kHalfPast) {
    std::vector<std::uint32_t> buckets;
    for (const BucketSize& bucket : buckets_to_drop(policy, stored, now)) {
        buckets.push_back(bucket.bucket.value);
    }
    return buckets;
}

BucketSize hours_ago(std::uint32_t hours, std::uint64_t size_bytes = 0) {
    return {BucketNumber{kNow.value - hours}, size_bytes};
}

using Buckets = std::vector<std::uint32_t>;

TEST(RetentionPolicy, KeepsEverythingWhenItLimitsNothing) {
    EXPECT_TRUE(RetentionPolicy{}.keeps_everything());
    EXPECT_EQ(dropped({}, {{BucketNumber{0}, ~0ULL}, hours_ago(0)}), Buckets{});
    EXPECT_EQ(dropped({3'600, 1}, {}), Buckets{});
}

TEST(RetentionPolicy, CountsAgeFromTheEndOfTheHour) {
    const std::vector stored{hours_ago(5), hours_ago(3), hours_ago(2), hours_ago(1), hours_ago(0)};
    // An hour that ended half an hour ago isn't an hour old, the one before is an hour and a half.
    EXPECT_EQ(dropped({3'600, {}}, stored), (Buckets{kNow.value - 5, kNow.value - 3, kNow.value - 2}));
    EXPECT_EQ(dropped({5'400, {}}, stored), (Buckets{kNow.value - 5, kNow.value - 3, kNow.value - 2}));
    EXPECT_EQ(dropped({5'401, {}}, stored), (Buckets{kNow.value - 5, kNow.value - 3}));
    EXPECT_EQ(dropped({30 * 86'400, {}}, stored), Buckets{});
}

TEST(RetentionPolicy, DropsNoMoreForBytesThanItMustAndNeverTheOpenHour) {
    const std::vector stored{hours_ago(9, 10), hours_ago(5, 20), hours_ago(1, 30), hours_ago(0, 40)};
    EXPECT_EQ(dropped({{}, 100}, stored), Buckets{});
    EXPECT_EQ(dropped({{}, 99}, stored), Buckets{kNow.value - 9});
    EXPECT_EQ(dropped({{}, 90}, stored), Buckets{kNow.value - 9});
    EXPECT_EQ(dropped({{}, 89}, stored), (Buckets{kNow.value - 9, kNow.value - 5}));
    EXPECT_EQ(dropped({{}, 1}, stored), (Buckets{kNow.value - 9, kNow.value - 5, kNow.value - 1}));
    const std::vector ahead{hours_ago(0, 40), BucketSize{BucketNumber{kNow.value + 1}, 50}};
    EXPECT_EQ(dropped({{}, 1}, ahead), Buckets{});
}

TEST(RetentionPolicy, OfASharedStoreEachGatewayKeepsItsPartOfTheBytes) {
    const RetentionPolicy policy{3'600, 90};
    EXPECT_EQ(own_part_of(policy, 60, 60).size_bytes, 45U);
    EXPECT_EQ(own_part_of(policy, 30, 0).size_bytes, 90U);
    EXPECT_EQ(own_part_of(policy, 0, 500).size_bytes, 90U);
    EXPECT_EQ(own_part_of(policy, 1ULL << 60, 3ULL << 60).size_bytes, 22U);
    EXPECT_EQ(own_part_of(policy, 60, 60).age_s, 3'600);
    EXPECT_EQ(own_part_of({3'600, {}}, 60, 60).size_bytes, std::nullopt);
}

TEST(RetentionPolicy, TakesWhateverIsTooOldOrTooMuch) {
    const std::vector stored{hours_ago(9, 10), hours_ago(5, 20), hours_ago(1, 30), hours_ago(0, 40)};
    EXPECT_EQ(dropped({4 * 3'600, 90}, stored), (Buckets{kNow.value - 9, kNow.value - 5}));
    EXPECT_EQ(dropped({8 * 3'600, 70}, stored), (Buckets{kNow.value - 9, kNow.value - 5}));
}

TEST(RetentionPolicy, SurvivesClocksThatAreFarOff) {
    const std::vector stored{BucketSize{BucketNumber{0}, 1}, BucketSize{BucketNumber{~0U}, 1}};
    EXPECT_EQ(dropped({3'600, 1}, stored, UtcNs{0}), Buckets{});
    EXPECT_EQ(dropped({3'600, 1}, stored, UtcNs{-kNsPerSecond}), Buckets{});
    EXPECT_EQ(dropped({3'600, 1}, stored, UtcNs{INT64_MAX}), Buckets{0});
}

}  // namespace
}  // namespace perfleet
