#include "query-engine/scan/covered_seqs.h"

#include <gtest/gtest.h>

#include <array>

namespace perfleet::covered_seqs_test {
namespace {

constexpr TickRange kRange{Ticks{100}, Ticks{200}};

Side side_of_rows(std::uint64_t first, std::uint64_t last) { return side_of(Ticks{first}, Ticks{last}, kRange); }

TEST(CoveredSeqs, ASideIncludesTheFirstTickOfTheRangeAndNotTheLast) {
    EXPECT_EQ(side_of_rows(100, 199), Side::kInside);
    EXPECT_EQ(side_of_rows(100, 100), Side::kInside);
    EXPECT_EQ(side_of_rows(99, 199), Side::kAcross);
    EXPECT_EQ(side_of_rows(100, 200), Side::kAcross);
    EXPECT_EQ(side_of_rows(50, 100), Side::kAcross) << "its last row is the first of the range";
    EXPECT_EQ(side_of_rows(50, 99), Side::kOutside);
    EXPECT_EQ(side_of_rows(199, 300), Side::kAcross);
    EXPECT_EQ(side_of_rows(200, 300), Side::kOutside);
}

TEST(CoveredSeqs, HasTheFirstAndTheLastOfItsRanges) {
    CoveredSeqs covered;
    EXPECT_FALSE(covered.has(Seq{5}));
    covered.add(std::array{SeqRange{Seq{5}, Seq{7}}, SeqRange{Seq{10}, Seq{10}}});
    for (const std::uint64_t seq : {5U, 6U, 7U, 10U}) {
        EXPECT_TRUE(covered.has(Seq{seq})) << seq;
    }
    for (const std::uint64_t seq : {1U, 4U, 8U, 9U, 11U}) {
        EXPECT_FALSE(covered.has(Seq{seq})) << seq;
    }
    EXPECT_TRUE(covered.has_any_of({Seq{1}, Seq{5}}));
    EXPECT_TRUE(covered.has_any_of({Seq{7}, Seq{9}}));
    EXPECT_TRUE(covered.has_any_of({Seq{1}, Seq{100}}));
    EXPECT_FALSE(covered.has_any_of({Seq{8}, Seq{9}}));
    EXPECT_FALSE(covered.has_any_of({Seq{1}, Seq{4}}));
}

}  // namespace
}  // namespace perfleet::covered_seqs_test
