#include "storage/store/partition_drop.h"

#include <gtest/gtest.h>

namespace perfleet::partition_drop_test {
namespace {

TEST(RangesOf, JoinsShardsThatStandSideBySide) {
    const auto partition = [](std::uint32_t bucket, std::uint8_t retention_class, std::uint16_t shard) {
        return Partition{BucketNumber{bucket}, retention_class, shard};
    };
    const auto range = [](const Partition& first, const Partition& last) {
        return KeyRange{partition_range(first).begin, partition_range(last).end};
    };
    const std::vector<Partition> partitions{partition(7, 0, 3), partition(7, 0, 1), partition(7, 0, 2),
                                            partition(7, 0, 5), partition(7, 1, 6), partition(8, 1, 7)};
    const std::vector<KeyRange> expected{range(partitions[1], partitions[0]), range(partitions[3], partitions[3]),
                                         range(partitions[4], partitions[4]), range(partitions[5], partitions[5])};
    const auto found = ranges_of(partitions);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].begin, expected[i].begin) << i;
        EXPECT_EQ(found[i].end, expected[i].end) << i;
    }
}

}  // namespace
}  // namespace perfleet::partition_drop_test
