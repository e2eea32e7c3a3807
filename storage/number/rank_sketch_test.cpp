#include "storage/number/rank_sketch.h"

#include <gtest/gtest.h>

#include <vector>

namespace perfleet::rank_sketch_test {
namespace {

TEST(RankSketch, SmallValuesAreExactAndGreaterOnesOfEightBits) {
    EXPECT_EQ(RankSketch::bucket_of(0), 0U);
    EXPECT_EQ(RankSketch::bucket_of(255), 255U);
    EXPECT_EQ(RankSketch::bucket_of(256), 256U + 128);
    EXPECT_EQ(RankSketch::bucket_of(257), 256U + 128);
    EXPECT_EQ(RankSketch::bucket_of(258), 256U + 129);
    EXPECT_EQ(RankSketch::bucket_of(~0ULL), 56U * 256 + 255);
}

TEST(RankSketch, KnowsTheBucketsInWhichAValueLies) {
    const std::uint32_t last = RankSketch::bucket_of(~0ULL);
    for (std::uint64_t bucket = 0; bucket <= last; ++bucket) {
        const std::uint64_t least = (bucket & 255U) << (bucket >> 8U);
        EXPECT_EQ(RankSketch::is_bucket(bucket), RankSketch::bucket_of(least) == bucket) << bucket;
    }
    EXPECT_FALSE(RankSketch::is_bucket(last + 1ULL));
    EXPECT_FALSE(RankSketch::is_bucket(last + 256ULL));
}

TEST(RankSketch, GivesTheValueOfARankWithinItsError) {
    RankSketch sketch;
    RankSketch half;
    RankSketch other;
    const std::vector<std::uint64_t> values{3, 3, 200, 1'000, 1'000'000, 1ULL << 40U, ~0ULL};
    for (std::size_t i = 0; i < values.size(); ++i) {
        sketch.add(values[i]);
        (i % 2 == 0 ? half : other).add(values[i]);
    }
    sketch.add(17, 0);
    for (std::size_t rank = 0; rank < values.size(); ++rank) {
        const auto truth = static_cast<long double>(values[rank]);
        const auto found = static_cast<long double>(sketch.value_at(rank));
        EXPECT_LE(found > truth ? found - truth : truth - found, truth * RankSketch::kErrorMax) << rank;
    }
    EXPECT_EQ(sketch.value_at(values.size()), 0U) << "there is none";
    EXPECT_EQ(sketch.count(), values.size());
    EXPECT_EQ(sketch.bucket_count(), values.size() - 1);
    half.merge(other);
    EXPECT_EQ(half, sketch);
    RankSketch small;
    small.add(3);
    small.merge(sketch);
    EXPECT_EQ(small.count(), values.size() + 1);
    EXPECT_EQ(small.value_at(2), 3U);
}

}  // namespace
}  // namespace perfleet::rank_sketch_test
