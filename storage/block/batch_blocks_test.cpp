#include "storage/block/batch_blocks.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <vector>

#include "schemas/vocabulary/batch_limits.h"
#include "storage/block/block.h"
#include "storage/limits/store_limits.h"

namespace perfleet::batch_blocks_test {
namespace {

constexpr std::array<std::byte, 3> kTimeColumn{std::byte{0x00}, std::byte{0xe8}, std::byte{0x07}};  // 1000, twice
constexpr std::array kColumns{ColumnView{ColumnId::kTime, Codec::kFrameOfReference, kTimeColumn}};
constexpr Series kSamples{Kind::kSample, EventNumber{3}};
constexpr Series kTasks{Kind::kTask, kNoEvent};

SeriesView two_rows(Series series) { return {series, 2, Ticks{1000}, Ticks{1001}, kColumns}; }

Result<AdmittedBatch> admitted(std::span<const SeriesView> series) {
    SealedBatch batch;
    batch.target = TargetId{9};
    batch.header.session = SessionId{1, 2};
    batch.header.seq = Seq{7};
    batch.header.epoch = EpochNumber{5};
    batch.header.bucket = BucketNumber{11};
    batch.seal = 0x1234;
    batch.oldest_retained_seq = 6;
    batch.series = series;
    return make_admitted_batch(batch);
}

TEST(BatchBlocks, ABatchHasABlockOfEachSeries) {
    const auto batch = admitted(std::array{two_rows(kSamples), two_rows(kTasks)});
    ASSERT_TRUE(batch.ok()) << batch.error().message;
    EXPECT_EQ(batch->key, (BatchKey{TargetId{9}, SessionId{1, 2}, Seq{7}}));
    EXPECT_EQ(batch->record.seq, Seq{7});
    EXPECT_EQ(batch->record.epoch, EpochNumber{5});
    EXPECT_EQ(batch->record.bucket, BucketNumber{11});
    EXPECT_EQ(batch->record.seal, 0x1234U);
    EXPECT_EQ(batch->record.oldest_retained_seq, 6U);
    ASSERT_EQ(batch->series.size(), 2U);
    ASSERT_EQ(batch->record.rows.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) {
        const auto block = parse_block_untrusted(batch->series[i].block);
        ASSERT_TRUE(block.ok()) << block.error().message;
        EXPECT_EQ(block->header.series, i == 0 ? kSamples : kTasks);
        EXPECT_EQ(block->header.epoch, EpochNumber{5});
        EXPECT_EQ(block->header.first_seq, Seq{7});
        EXPECT_EQ(block->header.last_seq, Seq{7});
        EXPECT_EQ(block->header.row_count, 2U);
        EXPECT_EQ(block->header.first_ticks, Ticks{1000});
        EXPECT_EQ(block->header.last_ticks, Ticks{1001});
        EXPECT_EQ(batch->record.rows[i].series, block->header.series);
        EXPECT_EQ(batch->record.rows[i].row_count, 2U);
        EXPECT_EQ(batch->record.rows[i].last_ticks, Ticks{1001});
    }
}

TEST(BatchBlocks, RowsPastALimitAreRefusedByTheNameOfTheirSeries) {
    const auto code_of = [](const SeriesView& rows) {
        const auto batch = admitted(std::array{two_rows(kTasks), rows});
        EXPECT_TRUE(batch.ok() || batch.error().message.find("/3: ") != std::string::npos) << batch.error().message;
        return batch.ok() ? std::nullopt : std::optional{batch.error().code};
    };
    SeriesView rows = two_rows(kSamples);
    rows.row_count = limits::kBlockRowsMax;
    EXPECT_EQ(code_of(rows), std::nullopt);
    rows.row_count = limits::kBlockRowsMax + 1;
    EXPECT_EQ(code_of(rows), ErrorCode::kTooLarge);

    rows = two_rows(kSamples);
    rows.last_ticks = Ticks{1000};
    EXPECT_EQ(code_of(rows), std::nullopt);
    rows.last_ticks = Ticks{999};
    EXPECT_EQ(code_of(rows), ErrorCode::kInvalid);

    std::vector<ColumnView> columns;
    for (std::uint16_t i = 0; i <= limits::kColumnsMax; ++i) {
        columns.push_back({static_cast<ColumnId>(0x1000 + i), Codec::kBytes, kTimeColumn});
    }
    rows = two_rows(kSamples);
    rows.columns = std::span{columns}.first(limits::kColumnsMax);
    EXPECT_EQ(code_of(rows), std::nullopt);
    rows.columns = columns;
    EXPECT_EQ(code_of(rows), ErrorCode::kTooLarge);
    columns[limits::kColumnsMax - 1].id = columns[3].id;
    rows.columns = std::span{columns}.first(limits::kColumnsMax);
    EXPECT_EQ(code_of(rows), ErrorCode::kInvalid) << "a column twice";

    std::vector<std::byte> bytes(limits::kBatchSizeBytesMax + 1);
    columns.assign(1, {ColumnId::kTime, Codec::kBytes, std::span{bytes}.first(limits::kBatchSizeBytesMax)});
    rows.columns = columns;
    EXPECT_EQ(code_of(rows), std::nullopt);
    columns[0].bytes = bytes;
    EXPECT_EQ(code_of(rows), ErrorCode::kTooLarge);

    rows = two_rows({static_cast<Kind>(kKindLast + 1), EventNumber{3}});
    EXPECT_EQ(code_of(rows), ErrorCode::kInvalid);
    EXPECT_FALSE(admitted(std::array{two_rows(kTasks), two_rows(kSamples), two_rows(kTasks)}).ok()) << "a series twice";
}

}  // namespace
}  // namespace perfleet::batch_blocks_test
