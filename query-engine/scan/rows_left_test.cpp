#include "query-engine/scan/rows_left.h"

#include <gtest/gtest.h>

namespace perfleet::rows_left_test {
namespace {

constexpr TickRange kRange{Ticks{100}, Ticks{200}};

Side side_of_rows(std::uint64_t first, std::uint64_t last) { return side_of(Ticks{first}, Ticks{last}, kRange); }

TEST(RowsLeft, ASideIncludesTheFirstTickOfTheRangeAndNotTheLast) {
    EXPECT_EQ(side_of_rows(100, 199), Side::kInside);
    EXPECT_EQ(side_of_rows(100, 100), Side::kInside);
    EXPECT_EQ(side_of_rows(99, 199), Side::kAcross);
    EXPECT_EQ(side_of_rows(100, 200), Side::kAcross);
    EXPECT_EQ(side_of_rows(50, 100), Side::kAcross) << "its last row is the first of the range";
    EXPECT_EQ(side_of_rows(50, 99), Side::kOutside);
    EXPECT_EQ(side_of_rows(199, 300), Side::kAcross);
    EXPECT_EQ(side_of_rows(200, 300), Side::kOutside);
}

TEST(RowsLeft, AGroupHasTheFirstAndTheLastOfItsSeqs) {
    RowsLeft left{kRange};
    const SeqRange covered[] = {{Seq{5}, Seq{7}}, {Seq{10}, Seq{10}}};
    left.cover(covered, {{Ticks{120}, Ticks{130}}});
    for (const std::uint64_t seq : {5U, 6U, 7U, 10U}) {
        EXPECT_EQ(left.group_of(Seq{seq}), 1U) << seq;
    }
    for (const std::uint64_t seq : {1U, 4U, 8U, 9U, 11U}) {
        EXPECT_EQ(left.group_of(Seq{seq}), 0U) << seq;
    }
    const auto is_covered = [&](std::uint64_t first, std::uint64_t last) {
        const SeqRange range[] = {{Seq{first}, Seq{last}}};
        return left.is_covered(range);
    };
    EXPECT_TRUE(is_covered(1, 5));
    EXPECT_TRUE(is_covered(7, 9));
    EXPECT_TRUE(is_covered(10, 20));
    EXPECT_TRUE(is_covered(1, 20));
    EXPECT_FALSE(is_covered(1, 4));
    EXPECT_FALSE(is_covered(8, 9));
    EXPECT_FALSE(is_covered(11, 20));
}

TEST(RowsLeft, MayHaveRowsAtBothEndsOfItsRanges) {
    RowsLeft left{kRange};
    const SeqRange covered[] = {{Seq{5}, Seq{7}}};
    left.cover(covered, {{Ticks{120}, Ticks{130}}, {Ticks{140}, Ticks{150}}});
    EXPECT_TRUE(left.may_have(1, Ticks{100}, Ticks{120}));
    EXPECT_TRUE(left.may_have(1, Ticks{129}, Ticks{129}));
    EXPECT_TRUE(left.may_have(1, Ticks{149}, Ticks{160}));
    EXPECT_FALSE(left.may_have(1, Ticks{100}, Ticks{119}));
    EXPECT_FALSE(left.may_have(1, Ticks{130}, Ticks{139}));
    EXPECT_FALSE(left.may_have(1, Ticks{150}, Ticks{160}));
    EXPECT_TRUE(left.may_have(0, Ticks{100}, Ticks{119}));
    EXPECT_FALSE(left.may_have(0, Ticks{200}, Ticks{300}));
}

}  // namespace
}  // namespace perfleet::rows_left_test
