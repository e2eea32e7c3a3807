#include "storage/block/block.h"

#include <gtest/gtest.h>

#include <array>

#include "schemas/columns/crc32c.h"
#include "schemas/vocabulary/batch_limits.h"
#include "storage/block/layout.h"
#include "storage/limits/store_limits.h"
#include "storage/model/little_endian.h"

namespace perfleet {
namespace {

constexpr std::array<std::byte, 3> kTimeColumn{std::byte{0x00}, std::byte{0xe8}, std::byte{0x07}};  // 1000, twice
constexpr std::array<std::byte, 2> kOtherColumn{std::byte{0xaa}, std::byte{0xbb}};
constexpr ColumnId kUnknownColumn{0x1234};

BlockHeader small_header() {
    BlockHeader header;
    header.series = {Kind::kSample, EventNumber{3}};
    header.epoch = EpochNumber{5};
    header.first_seq = Seq{7};
    header.last_seq = Seq{8};
    header.row_count = 2;
    header.first_ticks = Ticks{1000};
    header.last_ticks = Ticks{1001};
    return header;
}

std::string small_block() {
    const std::array columns{ColumnView{ColumnId::kTime, Codec::kFrameOfReference, kTimeColumn},
                             ColumnView{kUnknownColumn, static_cast<Codec>(9), kOtherColumn}};
    return encode_block(small_header(), columns);
}

std::span<const std::byte> as_bytes(std::string_view text) {
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// Puts a value into the header and makes the header's checksum right again.
template <class Integer>
void patch(std::string& block, std::size_t offset, Integer value, std::size_t directory_end) {
    for (std::size_t i = 0; i < sizeof(Integer); ++i) {
        block[offset + i] = static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i));
    }
    const std::string_view bytes{block};
    std::uint32_t crc = crc32c(0, as_bytes(bytes.substr(0, 52)));
    crc = crc32c(crc, as_bytes(bytes.substr(56, directory_end - 56)));
    for (std::size_t i = 0; i < 4; ++i) {
        block[52 + i] = static_cast<char>(crc >> (8 * i));
    }
}
constexpr std::size_t kDirectoryEnd = 56 + 2 * 12;

// The bytes that FORMAT.md's diagram gives; the checksums were computed by another implementation of CRC-32C.
TEST(Block, HasTheGoldenBytes) {
    constexpr std::array<unsigned char, 85> kGolden{
        0x70, 0x6c, 0x42, 0x6b, 1,    0,    1,    2,                             // magic, version, kind, columns
        3,    0,    0,    0,    5,    0,    0,    0,                             // event, reserved, epoch
        7,    0,    0,    0,    0,    0,    0,    0,                             // first seq
        8,    0,    0,    0,    0,    0,    0,    0,                             // last seq
        0xe8, 3,    0,    0,    0,    0,    0,    0,                             // first ticks
        0xe9, 3,    0,    0,    0,    0,    0,    0,                             // last ticks
        2,    0,    0,    0,    0xaf, 0xda, 0xcf, 0xb6,                          // rows, checksum
        1,    0,    1,    0,    3,    0,    0,    0,    0xd6, 0xdb, 0xe5, 0x52,  //
        0x34, 0x12, 9,    0,    2,    0,    0,    0,    0x8d, 0x44, 0xe4, 0xe4,  //
        0x00, 0xe8, 0x07, 0xaa, 0xbb};
    const std::string block = small_block();
    ASSERT_EQ(block.size(), kGolden.size());
    for (std::size_t i = 0; i < block.size(); ++i) {
        EXPECT_EQ(static_cast<unsigned char>(block[i]), kGolden[i]) << "at " << i;
    }
}

TEST(Block, GivesBackWhatWasPutIn) {
    const std::string block = small_block();
    auto view = parse_block_untrusted(block);
    ASSERT_TRUE(view.ok()) << view.error().message;
    EXPECT_EQ(view->header.series, (Series{Kind::kSample, EventNumber{3}}));
    EXPECT_EQ(view->header.epoch, EpochNumber{5});
    EXPECT_EQ(view->header.first_seq, Seq{7});
    EXPECT_EQ(view->header.last_seq, Seq{8});
    EXPECT_EQ(view->header.row_count, 2U);
    EXPECT_EQ(view->header.first_ticks, Ticks{1000});
    EXPECT_EQ(view->header.last_ticks, Ticks{1001});
    ASSERT_EQ(view->columns.size(), 2U);
    const ColumnView* time = view->find(ColumnId::kTime);
    ASSERT_NE(time, nullptr);
    EXPECT_EQ(time->codec, Codec::kFrameOfReference);
    EXPECT_TRUE(std::equal(time->bytes.begin(), time->bytes.end(), kTimeColumn.begin(), kTimeColumn.end()));
    EXPECT_EQ(view->find(ColumnId::kCpu), nullptr);
}

TEST(Block, KeepsColumnsThatItDoesntKnow) {
    const std::string block = small_block();
    auto view = parse_block_untrusted(block);
    ASSERT_TRUE(view.ok());
    const ColumnView* other = view->find(kUnknownColumn);
    ASSERT_NE(other, nullptr);
    EXPECT_EQ(other->codec, static_cast<Codec>(9));
    EXPECT_TRUE(std::equal(other->bytes.begin(), other->bytes.end(), kOtherColumn.begin(), kOtherColumn.end()));
}

TEST(Block, MayBeWithoutRowsAndColumns) {
    BlockHeader header = small_header();
    header.row_count = 0;
    const std::string block = encode_block(header, {});
    auto view = parse_block_untrusted(block);
    ASSERT_TRUE(view.ok()) << view.error().message;
    EXPECT_TRUE(view->columns.empty());
}

TEST(Block, IsRefusedWhenTruncatedAnywhere) {
    const std::string block = small_block();
    for (std::size_t size = 0; size < block.size(); ++size) {
        const std::string cut{block.substr(0, size)};
        auto view = parse_block_untrusted(cut);
        ASSERT_FALSE(view.ok()) << size;
        EXPECT_EQ(view.error().code, ErrorCode::kTruncated) << size << ": " << view.error().message;
    }
}

TEST(Block, IsRefusedWithAnyBitFlipped) {
    const std::string block = small_block();
    for (std::size_t bit = 0; bit < block.size() * 8; ++bit) {
        std::string damaged = block;
        damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
        EXPECT_FALSE(parse_block_untrusted(damaged).ok()) << "bit " << bit;
    }
}

TEST(Block, ItsLastSeqCanBePeekedAt) {
    const std::string block = encode_block(small_header(), {});
    EXPECT_EQ(peek_last_seq_untrusted(block, Seq{7}), Seq{8});
    EXPECT_EQ(peek_last_seq_untrusted(block.substr(0, block.size() - 1), Seq{7}), Seq{7});
    EXPECT_EQ(peek_last_seq_untrusted("", Seq{7}), Seq{7});
}

TEST(Block, IsRefusedWithBytesLeftOver) {
    auto view = parse_block_untrusted(small_block() + "x");
    ASSERT_FALSE(view.ok());
    EXPECT_EQ(view.error().code, ErrorCode::kInvalid);
}

TEST(Block, OfAnotherVersionIsRefusedByName) {
    for (const std::uint16_t version : std::initializer_list<std::uint16_t>{0, 2, 3}) {
        std::string block = small_block();
        patch<std::uint16_t>(block, 4, version, kDirectoryEnd);
        auto view = parse_block_untrusted(block);
        ASSERT_FALSE(view.ok());
        EXPECT_EQ(view.error().code, ErrorCode::kUnsupported);
        EXPECT_NE(
            view.error().message.find("has block format " + std::to_string(version) + "; this build reads format 1"),
            std::string::npos)
            << view.error().message;
    }
}

TEST(Block, OfAnUnknownKindIsRefusedByName) {
    std::string block = small_block();
    patch<std::uint8_t>(block, 6, kKindLast + 1, kDirectoryEnd);
    auto view = parse_block_untrusted(block);
    ASSERT_FALSE(view.ok());
    EXPECT_EQ(view.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(view.error().message.find("kind " + std::to_string(kKindLast + 1)), std::string::npos)
        << view.error().message;
}

TEST(Block, MayBeAtItsLimits) {
    BlockHeader header = small_header();
    header.row_count = limits::kBlockRowsMax;
    header.last_seq = header.first_seq;
    header.last_ticks = header.first_ticks;
    std::vector<ColumnView> columns;
    for (std::uint16_t i = 0; i < limits::kColumnsMax; ++i) {
        columns.push_back({static_cast<ColumnId>(0x1000 + i), Codec::kBytes, kOtherColumn});
    }
    const std::string block = encode_block(header, columns);
    const auto view = parse_block_untrusted(block);
    ASSERT_TRUE(view.ok()) << view.error().message;
    EXPECT_EQ(view->columns.size(), limits::kColumnsMax);
    EXPECT_EQ(view->header.row_count, limits::kBlockRowsMax);
}

// Blocks that are refused despite a right checksum.
TEST(Block, ThatContradictsItselfIsRefused) {
    struct Case {
        const char* what;
        std::size_t offset;
        std::uint64_t value;
        std::size_t size;
        ErrorCode code;
    };
    const std::array cases{
        Case{"parts without their columns", 10, 1, 2, ErrorCode::kInvalid},
        Case{"parts", 10, limits::kCompactedPartsMax + 1, 2, ErrorCode::kTooLarge},
        Case{"seqs", 16, 9, 8, ErrorCode::kInvalid},
        Case{"ticks", 32, 1002, 8, ErrorCode::kInvalid},
        Case{"rows", 48, limits::kBlockRowsMax + 1, 4, ErrorCode::kTooLarge},
        Case{"rows", 48, 0xffff'ffff, 4, ErrorCode::kTooLarge},
        Case{"entry reserved", 56 + 3, 1, 1, ErrorCode::kInvalid},
        Case{"same id twice", 56 + 12, 1, 2, ErrorCode::kInvalid},
        Case{"size past the end", 56 + 4, 0xffff'ffff, 4, ErrorCode::kTruncated},
        Case{"size with bytes left over", 56 + 12 + 4, 0, 4, ErrorCode::kCorrupt},
    };
    for (const Case& part : cases) {
        std::string block = small_block();
        switch (part.size) {
            case 1: patch(block, part.offset, static_cast<std::uint8_t>(part.value), kDirectoryEnd); break;
            case 2: patch(block, part.offset, static_cast<std::uint16_t>(part.value), kDirectoryEnd); break;
            case 4: patch(block, part.offset, static_cast<std::uint32_t>(part.value), kDirectoryEnd); break;
            default: patch(block, part.offset, part.value, kDirectoryEnd); break;
        }
        auto view = parse_block_untrusted(block);
        ASSERT_FALSE(view.ok()) << part.what;
        EXPECT_EQ(view.error().code, part.code) << part.what << ": " << view.error().message;
    }
}

TEST(Block, WithMoreColumnsThanTheLimitIsRefusedBeforeTheyAreRead) {
    std::string block = small_block();
    block[7] = static_cast<char>(limits::kColumnsMax + 1);
    auto view = parse_block_untrusted(block);
    ASSERT_FALSE(view.ok());
    EXPECT_EQ(view.error().code, ErrorCode::kTooLarge);
}

TEST(LittleEndian, PutsTheLowByteFirst) {
    std::string bytes;
    append_little_endian<std::uint32_t>(bytes, 0x04030201);
    EXPECT_EQ(bytes, "\x01\x02\x03\x04");
    EXPECT_EQ(load_little_endian<std::uint16_t>(bytes.data() + 1), 0x0302);
    bytes.assign(8, '\xff');
    EXPECT_EQ(load_little_endian<std::uint64_t>(bytes.data()), ~0ULL);
}

}  // namespace
}  // namespace perfleet
