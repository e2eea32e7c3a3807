#include "storage/block/block_compactor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "schemas/columns/crc32c.h"
#include "storage/block/block.h"
#include "storage/block/layout.h"
#include "storage/limits/store_limits.h"

namespace perfleet {
namespace {

constexpr Series kSeries{Kind::kCounter, EventNumber{3}};

// Rows of one batch: all columns hold the row's time, and more.
std::string sealed_block(Seq seq, std::vector<std::uint64_t> times, EpochNumber epoch = EpochNumber{5},
                         Series series = kSeries) {
    std::vector<std::vector<std::byte>> encoded;
    std::vector<ColumnView> columns;
    const auto rules = columns_of(series.kind);
    encoded.resize(rules.size());
    for (std::size_t i = 0; i < rules.size(); ++i) {
        encoded[i].resize(encoded_size_bytes_max(times.size()));
        const auto done = encode_integers(times, encoded[i]);
        EXPECT_TRUE(done.ok());
        columns.push_back({rules[i].id, done->codec, std::span{encoded[i]}.first(done->size_bytes)});
    }
    const BlockHeader header{series,
                             epoch,
                             seq,
                             seq,
                             static_cast<std::uint32_t>(times.size()),
                             Ticks{times.empty() ? 0 : times.front()},
                             Ticks{times.empty() ? 0 : times.back()}};
    return encode_block(header, columns);
}

BlockCompactor::Outcome take(BlockCompactor& compactor, const std::string& bytes) {
    const auto block = parse_block_untrusted(bytes);
    EXPECT_TRUE(block.ok()) << block.error().message;
    return compactor.take(*block, bytes.size());
}

std::string compacted_block() {
    BlockCompactor compactor;
    EXPECT_EQ(take(compactor, sealed_block(Seq{7}, {1000, 1001})), BlockCompactor::Outcome::kTaken);
    EXPECT_EQ(take(compactor, sealed_block(Seq{9}, {1005})), BlockCompactor::Outcome::kTaken);
    auto block = compactor.finish();
    EXPECT_TRUE(block.has_value());
    return *block;
}

TEST(CompactedBlock, HasItsRowsBehindEachOtherAndItsParts) {
    const std::string bytes = compacted_block();
    const auto block = parse_block_untrusted(bytes);
    ASSERT_TRUE(block.ok()) << block.error().message;
    EXPECT_EQ(block->header.series, kSeries);
    EXPECT_EQ(block->header.epoch, EpochNumber{5});
    EXPECT_EQ(block->header.first_seq, Seq{7});
    EXPECT_EQ(block->header.last_seq, Seq{9});
    EXPECT_EQ(block->header.first_ticks, Ticks{1000});
    EXPECT_EQ(block->header.last_ticks, Ticks{1005});
    EXPECT_EQ(block->parts, (std::vector<BlockPart>{{Seq{7}, 2}, {Seq{9}, 1}}));
    EXPECT_EQ(block->columns.size(), columns_of(kSeries.kind).size()) << "the parts are no columns of the rows";
    DecodedRows rows;
    ASSERT_TRUE(rows.decode(*block).ok());
    EXPECT_TRUE(std::ranges::equal(rows.integers(ColumnId::kTime), std::array{1000, 1001, 1005}));
}

// The header's part count, and the two columns of the parts last in the directory.
TEST(CompactedBlock, HasTheGoldenBytes) {
    constexpr std::array<unsigned char, 56> kHeader{
        0x70, 0x6c, 0x42, 0x6b, 1, 0, 6, 9,  // magic, version, kind, columns
        3,    0,    2,    0,    5, 0, 0, 0,  // event, parts, epoch
        7,    0,    0,    0,    0, 0, 0, 0,  // first seq
        9,    0,    0,    0,    0, 0, 0, 0,  // last seq
        0xe8, 3,    0,    0,    0, 0, 0, 0,  // first ticks
        0xed, 3,    0,    0,    0, 0, 0, 0,  // last ticks
        3,    0,    0,    0};                // rows; the checksum follows
    const std::string block = compacted_block();
    for (std::size_t i = 0; i < 52; ++i) {
        EXPECT_EQ(static_cast<unsigned char>(block[i]), kHeader[i]) << "at " << i;
    }
    const std::size_t seqs_entry = 56 + 7 * 12;
    EXPECT_EQ(block.substr(seqs_entry, 2), "\xfe\xff");
    EXPECT_EQ(block.substr(seqs_entry + 12, 2), "\xff\xff");
    EXPECT_EQ(static_cast<Codec>(block[seqs_entry + 2]), Codec::kFrameOfReference);
    // (0, 2) and (2, 1), each: width, minimum, values.
    EXPECT_EQ(block.substr(block.size() - 6), std::string("\x02\x00\x08\x01\x01\x01", 6));
}

TEST(CompactedBlock, IsRefusedWithAnyBitFlippedOrCut) {
    const std::string block = compacted_block();
    for (std::size_t bit = 0; bit < block.size() * 8; ++bit) {
        std::string damaged = block;
        damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
        EXPECT_FALSE(parse_block_untrusted(damaged).ok()) << "bit " << bit;
    }
    for (std::size_t size = 0; size < block.size(); ++size) {
        EXPECT_FALSE(parse_block_untrusted(std::string{block.substr(0, size)}).ok()) << size;
    }
}

// Parts that contradict the header, under right checksums.
TEST(CompactedBlock, IsRefusedWithPartsThatDoNotFit) {
    using Values = std::vector<std::uint64_t>;
    const auto refused = [](const Values& seqs, const Values& rows, std::uint16_t part_count) {
        const std::string bytes = compacted_block();
        const auto block = parse_block_untrusted(bytes);
        std::vector<ColumnView> columns = block->columns;
        std::array<std::vector<std::byte>, 2> encoded;
        const std::array ids{block_layout::kPartSeqs, block_layout::kPartRows};
        for (std::size_t i = 0; i < 2; ++i) {
            const Values& values = i == 0 ? seqs : rows;
            encoded[i].resize(encoded_size_bytes_max(values.size()));
            const auto done = encode_integers(values, encoded[i]);
            columns.push_back(
                {static_cast<ColumnId>(ids[i]), done->codec, std::span{encoded[i]}.first(done->size_bytes)});
        }
        std::string forged = encode_block(block->header, columns);
        forged[10] = static_cast<char>(part_count);
        forged[11] = static_cast<char>(part_count >> 8);
        const auto as_bytes = [](std::string_view text) {
            return std::span{reinterpret_cast<const std::byte*>(text.data()), text.size()};
        };
        const std::string_view view{forged};
        std::uint32_t crc = crc32c(0, as_bytes(view.substr(0, 52)));
        crc = crc32c(crc, as_bytes(view.substr(56, columns.size() * 12)));
        for (std::size_t i = 0; i < 4; ++i) {
            forged[52 + i] = static_cast<char>(crc >> (8 * i));
        }
        return !parse_block_untrusted(forged).ok();
    };
    EXPECT_FALSE(refused({0, 2}, {2, 1}, 2)) << "the right ones pass";
    EXPECT_TRUE(refused({0, 2}, {2, 2}, 2)) << "rows";
    EXPECT_TRUE(refused({0, 2}, {2, ~0ULL}, 2)) << "rows that wrap";
    EXPECT_TRUE(refused({0, 3}, {2, 1}, 2)) << "last seq";
    EXPECT_TRUE(refused({1, 2}, {2, 1}, 2)) << "first seq";
    EXPECT_TRUE(refused({0, 0, 2}, {1, 1, 1}, 3)) << "a seq twice";
    EXPECT_TRUE(refused({0, ~0ULL, 2}, {1, 1, 1}, 3)) << "a seq that wraps";
    EXPECT_TRUE(refused({0, 2}, {2, 1}, 1)) << "fewer";
    EXPECT_TRUE(refused({0, 2}, {2, 1}, 3)) << "more";
    EXPECT_TRUE(refused({0, 2}, {2, 1}, 0)) << "none";
    EXPECT_TRUE(refused({0, 2}, {2, 1}, limits::kCompactedPartsMax + 1)) << "too many";
}

TEST(BlockCompactor, TakesOnlyWhatBelongsTogether) {
    BlockCompactor compactor;
    ASSERT_EQ(take(compactor, sealed_block(Seq{7}, {1, 2})), BlockCompactor::Outcome::kTaken);
    EXPECT_EQ(take(compactor, sealed_block(Seq{7}, {1})), BlockCompactor::Outcome::kNoRoom) << "seqs ascend";
    EXPECT_EQ(take(compactor, sealed_block(Seq{8}, {1}, EpochNumber{6})), BlockCompactor::Outcome::kNoRoom);
    EXPECT_EQ(take(compactor, sealed_block(Seq{8}, {1}, EpochNumber{5}, {Kind::kCounter, EventNumber{4}})),
              BlockCompactor::Outcome::kNoRoom);
    EXPECT_EQ(take(compactor, compacted_block()), BlockCompactor::Outcome::kUnfit) << "once";
    std::vector<std::uint64_t> many(limits::kBlockRowsMax - 1);
    std::iota(many.begin(), many.end(), 0);
    EXPECT_EQ(take(compactor, sealed_block(Seq{8}, many)), BlockCompactor::Outcome::kNoRoom);
    many.pop_back();
    EXPECT_EQ(take(compactor, sealed_block(Seq{8}, many)), BlockCompactor::Outcome::kTaken) << "to the last row";
    EXPECT_EQ(compactor.block_count(), 2U);
    const auto block = compactor.finish();
    ASSERT_TRUE(block.has_value());
    EXPECT_EQ(parse_block_untrusted(*block)->header.row_count, limits::kBlockRowsMax);
    EXPECT_EQ(compactor.block_count(), 0U);
}

TEST(BlockCompactor, LeavesBlocksWithAMissingAnUnknownOrADamagedColumn) {
    const std::string bytes = sealed_block(Seq{7}, {1, 2});
    const auto block = parse_block_untrusted(bytes);
    BlockCompactor compactor;
    BlockView changed = *block;
    changed.columns.pop_back();
    EXPECT_EQ(compactor.take(changed, 1), BlockCompactor::Outcome::kUnfit);
    changed = *block;
    changed.columns.push_back({ColumnId{0x4321}, Codec::kBytes, {}});
    EXPECT_EQ(compactor.take(changed, 1), BlockCompactor::Outcome::kUnfit);
    changed = *block;
    changed.columns.front().codec = static_cast<Codec>(99);
    EXPECT_EQ(compactor.take(changed, 1), BlockCompactor::Outcome::kUnfit);
    EXPECT_EQ(compactor.block_count(), 0U);
}

TEST(BlockCompactor, TakesBytesUpToTheSizeOfACompactedBlock) {
    const std::string first = sealed_block(Seq{7}, {1, 2});
    const std::string second = sealed_block(Seq{8}, {3});
    BlockCompactor compactor;
    ASSERT_EQ(compactor.take(*parse_block_untrusted(first), limits::kCompactedBlockSizeBytesMax - 10),
              BlockCompactor::Outcome::kTaken);
    EXPECT_EQ(compactor.take(*parse_block_untrusted(second), 11), BlockCompactor::Outcome::kNoRoom);
    EXPECT_EQ(compactor.take(*parse_block_untrusted(second), 10), BlockCompactor::Outcome::kTaken);
    compactor.clear();
    EXPECT_EQ(compactor.block_count(), 0U);
    EXPECT_EQ(compactor.take(*parse_block_untrusted(second), 11), BlockCompactor::Outcome::kTaken) << "starts anew";
    const auto bytes = compactor.finish();
    ASSERT_TRUE(bytes.has_value());
    const auto block = parse_block_untrusted(*bytes);
    EXPECT_EQ(block->parts, (std::vector<BlockPart>{{Seq{8}, 1}}));
    DecodedRows rows;
    ASSERT_TRUE(rows.decode(*block).ok());
    EXPECT_TRUE(std::ranges::equal(rows.integers(ColumnId::kTime), std::array{3}));
}

// Ticks needn't ascend from batch to batch.
TEST(BlockCompactor, HasTheFirstAndTheLastTickOfAllItsRows) {
    BlockCompactor compactor;
    ASSERT_EQ(take(compactor, sealed_block(Seq{1}, {50, 60})), BlockCompactor::Outcome::kTaken);
    ASSERT_EQ(take(compactor, sealed_block(Seq{2}, {10, 20})), BlockCompactor::Outcome::kTaken);
    const auto bytes = compactor.finish();
    const auto block = parse_block_untrusted(*bytes);
    EXPECT_EQ(block->header.first_ticks, Ticks{10});
    EXPECT_EQ(block->header.last_ticks, Ticks{60});
}

TEST(SplitBlock, GivesEachBatchItsRowsAndTicks) {
    BlockCompactor compactor;
    ASSERT_EQ(take(compactor, sealed_block(Seq{7}, {1000, 1001})), BlockCompactor::Outcome::kTaken);
    ASSERT_EQ(take(compactor, sealed_block(Seq{8}, {})), BlockCompactor::Outcome::kTaken);
    ASSERT_EQ(take(compactor, sealed_block(Seq{9}, {1007, 1009, 1008})), BlockCompactor::Outcome::kTaken);
    const auto compacted = compactor.finish();
    const auto split = split_block(*parse_block_untrusted(*compacted));
    ASSERT_TRUE(split.ok()) << split.error().message;
    ASSERT_EQ(split->size(), 3U);
    const auto expect_part = [&](std::size_t index, Seq seq, const std::vector<std::uint64_t>& times) {
        const auto& [named, bytes] = split->at(index);
        EXPECT_EQ(named, seq);
        const auto block = parse_block_untrusted(bytes);
        ASSERT_TRUE(block.ok()) << block.error().message;
        EXPECT_EQ(block->header.first_seq, seq);
        EXPECT_EQ(block->header.last_seq, seq);
        EXPECT_EQ(block->header.epoch, EpochNumber{5});
        EXPECT_EQ(block->header.row_count, times.size());
        DecodedRows rows;
        ASSERT_TRUE(rows.decode(*block).ok());
        EXPECT_TRUE(std::ranges::equal(rows.integers(ColumnId::kTime), times));
        if (!times.empty()) {
            EXPECT_EQ(block->header.first_ticks.value, *std::min_element(times.begin(), times.end()));
            EXPECT_EQ(block->header.last_ticks.value, *std::max_element(times.begin(), times.end()));
        }
    };
    expect_part(0, Seq{7}, {1000, 1001});
    expect_part(1, Seq{8}, {});
    expect_part(2, Seq{9}, {1007, 1009, 1008});
    BlockView newer = *parse_block_untrusted(*compacted);
    newer.columns.push_back({ColumnId{0x4321}, Codec::kBytes, {}});
    EXPECT_FALSE(split_block(newer).ok());
}

// Each column keeps its own checksum when those of the parts are taken out.
TEST(CompactedBlock, ChecksAColumnWhenItIsDecodedIfItIsAskedTo) {
    const std::string sound = compacted_block();
    const auto view = parse_block_untrusted(sound, BlockCheck::kWhenDecoded);
    ASSERT_TRUE(view.ok());
    EXPECT_EQ(view->parts.size(), 2U);
    DecodedRows rows;
    ASSERT_TRUE(rows.decode(*view).ok());
    for (const ColumnView& damaged : view->columns) {
        std::string bytes = sound;
        const auto at = static_cast<std::size_t>(reinterpret_cast<const char*>(damaged.bytes.data()) - sound.data());
        bytes[at] = static_cast<char>(bytes[at] ^ 0x40);
        EXPECT_FALSE(parse_block_untrusted(bytes).ok());
        const auto unchecked = parse_block_untrusted(bytes, BlockCheck::kWhenDecoded);
        ASSERT_TRUE(unchecked.ok());
        for (const ColumnView& column : view->columns) {
            const auto done = rows.decode(*unchecked, std::array{column.id});
            EXPECT_EQ(done.ok(), column.id != damaged.id) << column_name(column.id);
        }
    }
}

TEST(DecodedRows, KeepOnlyWhatTheyAreToldTo) {
    const std::string bytes = sealed_block(Seq{7}, {10, 11, 12, 13, 14, 15});
    DecodedRows rows;
    ASSERT_TRUE(rows.decode(*parse_block_untrusted(bytes)).ok());
    const std::array<std::pair<std::size_t, std::size_t>, 3> ranges{{{0, 1}, {2, 4}, {5, 6}}};
    rows.keep(ranges);
    EXPECT_EQ(rows.row_count(), 4U);
    EXPECT_TRUE(std::ranges::equal(rows.integers(ColumnId::kTime), std::array{10, 12, 13, 15}));
    rows.keep({});
    EXPECT_EQ(rows.row_count(), 0U);
}

}  // namespace
}  // namespace perfleet
