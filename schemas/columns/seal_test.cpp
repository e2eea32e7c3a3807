#include "schemas/columns/seal.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "schemas/columns/crc32c.h"

namespace perfleet {
namespace {

class SealTest : public testing::Test {
protected:
    std::array<std::byte, 3> bytes_{std::byte{1}, std::byte{2}, std::byte{3}};
    std::array<ColumnView, 1> columns_{ColumnView{ColumnId::kTime, Codec::kRuns, bytes_}};
    std::array<SeriesView, 1> series_{SeriesView{{Kind::kSample, EventNumber{2}}, 9, Ticks{10}, Ticks{20}, columns_}};
    std::array<CountEntry, 1> counts_{CountEntry{{Kind::kSample, EventNumber{2}}, CountName::kProduced, 9}};
    std::array<SeqRange, 1> dropped_{SeqRange{Seq{1}, Seq{2}}};
    std::array<ClockPoint, 1> points_{ClockPoint{Ticks{5}, UtcNs{-1}, 7}};
    BatchHeader header_{SessionId{1, 2}, Seq{3}, EpochNumber{4}, BucketNumber{5}};

    [[nodiscard]] std::uint32_t seal() const { return seal_of(header_, series_, counts_, dropped_, points_); }
};

TEST_F(SealTest, IsTheChecksumOfTheDocumentedBytes) {
    std::vector<std::byte> expected;
    const auto put = [&](std::uint64_t value, int size) {
        for (int i = 0; i < size; ++i) {
            expected.push_back(static_cast<std::byte>(value >> (8 * i)));
        }
    };
    put(1, 8), put(2, 8), put(3, 8), put(4, 4), put(5, 4);
    put(1, 1), put(2, 2), put(9, 4), put(10, 8), put(20, 8), put(1, 2);
    put(1, 2), put(3, 1), put(3, 4), put(1, 1), put(2, 1), put(3, 1);
    put(1, 1), put(2, 2), put(1, 2), put(9, 8);
    put(1, 8), put(2, 8);
    put(5, 8), put(~0ULL, 8), put(7, 8);
    EXPECT_EQ(seal(), crc32c(0, expected));
}

TEST_F(SealTest, ChangesWithEveryPart) {
    const std::uint32_t before = seal();
    const auto expect_changed = [&](auto& part, auto other) {
        const auto kept = part;
        part = other;
        EXPECT_NE(seal(), before);
        part = kept;
    };
    expect_changed(header_.session.high, 9U);
    expect_changed(header_.seq, Seq{9});
    expect_changed(header_.epoch, EpochNumber{9});
    expect_changed(header_.bucket, BucketNumber{9});
    expect_changed(series_[0].series.kind, Kind::kTask);
    expect_changed(series_[0].row_count, 8U);
    expect_changed(columns_[0].codec, Codec::kDelta);
    expect_changed(bytes_[1], std::byte{9});
    expect_changed(counts_[0].value, 8U);
    expect_changed(dropped_[0].last, Seq{9});
    expect_changed(points_[0].utc_ns, UtcNs{9});
    EXPECT_EQ(seal(), before);
}

}  // namespace
}  // namespace perfleet
