#include <gtest/gtest.h>

#include <array>
#include <random>

#include "schemas/vocabulary/batch_limits.h"
#include "storage/block/block.h"

namespace perfleet {
namespace {

using Values = std::vector<std::uint64_t>;

// Columns that own their bytes.
class Columns {
public:
    void integers(ColumnId id, const Values& values) {
        std::vector<std::byte> out(encoded_size_bytes_max(values.size()));
        auto encoded = encode_integers(values, out);
        ASSERT_TRUE(encoded.ok());
        out.resize(encoded->size_bytes);
        raw(id, encoded->codec, std::move(out));
    }

    void bytes(ColumnId id, std::string_view text) {
        const auto* begin = reinterpret_cast<const std::byte*>(text.data());
        raw(id, Codec::kBytes, {begin, begin + text.size()});
    }

    void raw(ColumnId id, Codec codec, std::vector<std::byte> bytes) {
        owned_.push_back(std::move(bytes));
        views_.push_back({id, codec, owned_.back()});
    }

    [[nodiscard]] std::string block(Kind kind, std::uint32_t row_count) const {
        std::vector<ColumnView> views = views_;
        for (std::size_t i = 0; i < views.size(); ++i) {
            views[i].bytes = owned_[i];
        }
        BlockHeader header;
        header.series = {kind, EventNumber{0}};
        header.first_seq = header.last_seq = Seq{1};
        header.row_count = row_count;
        return encode_block(header, views);
    }

private:
    std::vector<std::vector<std::byte>> owned_;
    std::vector<ColumnView> views_;
};

Columns string_columns(const Values& numbers, const Values& sizes, std::string_view text) {
    Columns columns;
    columns.integers(ColumnId::kNumber, numbers);
    columns.integers(ColumnId::kNameSize, sizes);
    columns.bytes(ColumnId::kNameBytes, text);
    return columns;
}

Result<Done> decode(DecodedRows& rows, const std::string& block, std::span<const ColumnId> wanted = {}) {
    auto view = parse_block_untrusted(block);
    EXPECT_TRUE(view.ok());
    return rows.decode(*view, wanted);
}

TEST(DecodedRows, GiveIntegersAndBytesOfEachRow) {
    const std::string block = string_columns({1, 2, 3}, {3, 0, 4}, "abcdefg").block(Kind::kString, 3);
    DecodedRows rows;
    auto done = decode(rows, block);
    ASSERT_TRUE(done.ok()) << done.error().message;
    EXPECT_EQ(rows.row_count(), 3U);
    EXPECT_EQ(rows.integers(ColumnId::kNumber)[2], 3U);
    EXPECT_EQ(rows.bytes(ColumnId::kNameBytes, 0), "abc");
    EXPECT_EQ(rows.bytes(ColumnId::kNameBytes, 1), "");
    EXPECT_EQ(rows.bytes(ColumnId::kNameBytes, 2), "defg");
}

TEST(DecodedRows, OutliveTheirBlock) {
    DecodedRows rows;
    {
        std::string block = string_columns({1}, {3}, "abc").block(Kind::kString, 1);
        ASSERT_TRUE(decode(rows, block).ok());
        block.assign(block.size(), 'z');
    }
    EXPECT_EQ(rows.bytes(ColumnId::kNameBytes, 0), "abc");
}

TEST(DecodedRows, DecodeWhatWasAskedForAlone) {
    Columns columns;
    columns.integers(ColumnId::kTime, {10, 20});
    columns.integers(ColumnId::kCpu, {0, 1});
    columns.raw(ColumnId::kStack, static_cast<Codec>(77), {});  // can't be decoded
    const std::string block = columns.block(Kind::kSample, 2);
    DecodedRows rows;
    const std::array wanted{ColumnId::kCpu};
    ASSERT_TRUE(decode(rows, block, wanted).ok());
    EXPECT_EQ(Values(rows.integers(ColumnId::kCpu).begin(), rows.integers(ColumnId::kCpu).end()), (Values{0, 1}));
    EXPECT_DEATH((void)rows.integers(ColumnId::kTime), "bug at");
    auto stack = decode(rows, block, std::array{ColumnId::kStack});
    ASSERT_FALSE(stack.ok());
    EXPECT_EQ(stack.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(stack.error().message.find("stack"), std::string::npos) << stack.error().message;
}

TEST(DecodedRows, OfAByteColumnBringTheirSizes) {
    const std::string block = string_columns({1, 2}, {1, 2}, "abb").block(Kind::kString, 2);
    DecodedRows rows;
    ASSERT_TRUE(decode(rows, block, std::array{ColumnId::kNameBytes}).ok());
    EXPECT_EQ(rows.bytes(ColumnId::kNameBytes, 1), "bb");
    EXPECT_EQ(rows.integers(ColumnId::kNameSize)[1], 2U);
}

TEST(DecodedRows, AreReusable) {
    DecodedRows rows;
    ASSERT_TRUE(decode(rows, string_columns({1, 2}, {1, 2}, "abb").block(Kind::kString, 2)).ok());
    Columns latency;
    for (const ColumnRule& rule : columns_of(Kind::kLatency)) {
        latency.integers(rule.id, {4, 5, 6});
    }
    ASSERT_TRUE(decode(rows, latency.block(Kind::kLatency, 3)).ok());
    EXPECT_EQ(rows.row_count(), 3U);
    EXPECT_EQ(rows.integers(ColumnId::kValue)[1], 5U);
    EXPECT_DEATH((void)rows.integers(ColumnId::kNumber), "bug at");
}

TEST(DecodedRows, KeepTheBytesOfTheirRows) {
    DecodedRows rows;
    ASSERT_TRUE(decode(rows, string_columns({1, 2, 3, 4}, {2, 1, 0, 3}, "aabddd").block(Kind::kString, 4)).ok());
    rows.keep(std::array<std::pair<std::size_t, std::size_t>, 2>{{{1, 2}, {3, 4}}});
    ASSERT_EQ(rows.row_count(), 2U);
    EXPECT_EQ(rows.bytes(ColumnId::kNameBytes, 0), "b");
    EXPECT_EQ(rows.bytes(ColumnId::kNameBytes, 1), "ddd");
    EXPECT_EQ(Values(rows.integers(ColumnId::kNumber).begin(), rows.integers(ColumnId::kNumber).end()), (Values{2, 4}));
}

TEST(DecodedRows, AreNoneOfABlockThatIsTooLarge) {
    DecodedRows rows;
    const std::string block = string_columns({1, 2}, {1, 2}, "abb").block(Kind::kString, 2);
    BlockView view = *parse_block_untrusted(block);
    ASSERT_TRUE(rows.decode(view).ok());
    view.header.row_count = limits::kBlockRowsMax + 1;
    const auto done = rows.decode(view);
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().code, ErrorCode::kTooLarge);
    EXPECT_EQ(rows.row_count(), 0U);
}

TEST(DecodedRows, RefuseValuesPastTheirRule) {
    DecodedRows rows;
    auto done = decode(rows, string_columns({limits::kStringsMax + 1}, {0}, "").block(Kind::kString, 1));
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().code, ErrorCode::kInvalid);
    EXPECT_NE(done.error().message.find("number"), std::string::npos) << done.error().message;
    EXPECT_TRUE(decode(rows, string_columns({limits::kStringsMax}, {0}, "").block(Kind::kString, 1)).ok());
}

TEST(DecodedRows, RefuseSizesThatDontAddUp) {
    DecodedRows rows;
    for (const auto& sizes : {Values{1, 1}, Values{3, 1}, Values{limits::kStringSizeBytesMax, 0}}) {
        auto done = decode(rows, string_columns({1, 2}, sizes, "abc").block(Kind::kString, 2));
        ASSERT_FALSE(done.ok());
        EXPECT_EQ(done.error().code, ErrorCode::kInvalid);
        EXPECT_NE(done.error().message.find("name_bytes"), std::string::npos) << done.error().message;
    }
}

TEST(DecodedRows, RefuseMissingAndForeignColumns) {
    Columns columns;
    columns.integers(ColumnId::kNumber, {1});
    const std::string block = columns.block(Kind::kString, 1);
    DecodedRows rows;
    for (const ColumnId id : {ColumnId::kNameBytes, ColumnId::kNameSize, ColumnId::kStack}) {
        auto done = decode(rows, block, std::array{id});
        ASSERT_FALSE(done.ok());
        EXPECT_EQ(done.error().code, ErrorCode::kInvalid) << done.error().message;
    }
    EXPECT_TRUE(decode(rows, block, std::array{ColumnId::kNumber}).ok());
}

TEST(DecodedRows, RefuseAByteColumnInAnotherCodecAndIntegersAsBytes) {
    Columns columns;
    columns.integers(ColumnId::kNumber, {1});
    columns.integers(ColumnId::kNameSize, {1});
    columns.integers(ColumnId::kNameBytes, {65});
    DecodedRows rows;
    auto done = decode(rows, columns.block(Kind::kString, 1));
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().code, ErrorCode::kUnsupported);

    Columns others;
    others.bytes(ColumnId::kNumber, "a");
    done = decode(rows, others.block(Kind::kString, 1), std::array{ColumnId::kNumber});
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().code, ErrorCode::kUnsupported);
}

TEST(DecodedRows, RefuseAnotherNumberOfBytesThanRowsTake) {
    const Values numbers{9, 1, 8, 2, 7, 3, 6, 4};
    const Values sizes(8, 0);
    DecodedRows rows;
    EXPECT_TRUE(decode(rows, string_columns(numbers, sizes, "").block(Kind::kString, 8)).ok());
    EXPECT_FALSE(decode(rows, string_columns(numbers, sizes, "").block(Kind::kString, 10)).ok());
    EXPECT_FALSE(decode(rows, string_columns(numbers, sizes, "").block(Kind::kString, 6)).ok());
}

TEST(DecodedRows, NeverCrashOnRandomColumns) {
    std::mt19937_64 random{7};
    DecodedRows rows;
    std::size_t accepted = 0;
    for (int round = 0; round < 20'000; ++round) {
        Columns columns;
        const auto kind = static_cast<Kind>(1 + random() % kKindLast);
        for (const ColumnRule& rule : columns_of(kind)) {
            std::vector<std::byte> bytes(random() % 12);
            for (auto& byte : bytes) {
                byte = static_cast<std::byte>(random() % 4 == 0 ? random() : random() % 4);
            }
            columns.raw(rule.id, static_cast<Codec>(random() % 6), std::move(bytes));
        }
        accepted += decode(rows, columns.block(kind, static_cast<std::uint32_t>(random() % 4))).ok() ? 1 : 0;
    }
    EXPECT_LT(accepted, 20'000U);
}

}  // namespace
}  // namespace perfleet
