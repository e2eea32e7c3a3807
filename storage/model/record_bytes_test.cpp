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

}  // namespace
}  // namespace perfleet
