#include "storage/model/record_bytes.h"

#include <gtest/gtest.h>

#include <limits>

namespace perfleet {
namespace {

// Nine bytes with all bits set, then `last`.
std::string record_with_long_varint(std::uint8_t last) {
    RecordWriter writer;
    for (int i = 0; i < 9; ++i) {
        writer.fixed_u8(0xff);
    }
    writer.fixed_u8(last);
    return writer.finish();
}

TEST(RecordBytes, TheTenthByteOfAVarintHoldsOneBit) {
    const std::string longest = record_with_long_varint(1);
    RecordReader reader{longest, "record"};
    EXPECT_EQ(reader.varint(), std::numeric_limits<std::uint64_t>::max());
    EXPECT_FALSE(reader.has_failed());
    for (const std::uint8_t last : {std::uint8_t{2}, std::uint8_t{0x80}, std::uint8_t{0x81}}) {
        const std::string overlong = record_with_long_varint(last);
        RecordReader refusing{overlong, "record"};
        EXPECT_EQ(refusing.varint(), 0U) << int{last};
        EXPECT_TRUE(refusing.has_failed()) << int{last};
    }
}

struct Pair {
    std::int64_t low = 0;
    std::uint32_t high = 0;

    friend bool operator==(const Pair&, const Pair&) = default;
};

// One description writes and reads.
template <class Io, class Pairs>
void pair_columns(Io& io, Pairs& pairs) {
    io.rows(pairs, 1'000);
    io.column(pairs, [](auto& pair) { return &pair.low; });
    io.column(
        pairs, [](auto& pair) { return &pair.high; }, [](auto& pair) { return pair.low; });
}

Result<std::vector<Pair>> read_pairs(std::string_view bytes) {
    RecordReader reader{bytes, "pairs"};
    std::vector<Pair> pairs;
    pair_columns(reader, pairs);
    PERFLEET_TRY(reader.end());
    return pairs;
}

std::string bytes_of(const std::vector<Pair>& pairs) {
    RecordWriter writer;
    pair_columns(writer, pairs);
    return writer.finish();
}

TEST(RecordTable, IsReadAsItWasWritten) {
    std::vector<Pair> pairs;
    EXPECT_EQ(*read_pairs(bytes_of(pairs)), pairs);
    for (std::uint32_t i = 0; i < 1'000; ++i) {
        pairs.push_back({i, ~0U - i});
        ASSERT_EQ(*read_pairs(bytes_of(pairs)), pairs);
    }
    pairs.push_back({});
    EXPECT_FALSE(read_pairs(bytes_of(pairs)).ok()) << "more rows than the limit";
}

TEST(RecordTable, WhoseValuesDontFitTheirFieldsIsRefused) {
    EXPECT_TRUE(read_pairs(bytes_of({{5, 7}})).ok());
    RecordWriter beyond;
    beyond.varint(1);
    beyond.column(std::vector<std::uint64_t>{5});
    beyond.column(std::vector<std::uint64_t>{0xffff'fffb});  // above 5
    EXPECT_FALSE(read_pairs(beyond.finish()).ok());
    RecordWriter overflow;
    overflow.varint(1);
    overflow.column(std::vector<std::uint64_t>{5});
    overflow.column(std::vector<std::uint64_t>{~0ULL});
    EXPECT_FALSE(read_pairs(overflow.finish()).ok());
    RecordWriter short_column;
    short_column.varint(3);
    short_column.column(std::vector<std::uint64_t>{5, 5});
    short_column.column(std::vector<std::uint64_t>{1, 1, 1});
    EXPECT_FALSE(read_pairs(short_column.finish()).ok());
}

}  // namespace
}  // namespace perfleet
