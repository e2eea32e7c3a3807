#include "storage/engine/rados/segment_bytes.h"

#include <gtest/gtest.h>

#include <string>

#include "storage/engine/rados/place.h"

namespace perfleet {
namespace {

TEST(RadosPlaceText, IsUserPoolAndNamespace) {
    EXPECT_FALSE(rados_place("./store"));
    const auto whole = rados_place("rados:gateway@telemetry/eu/west");
    ASSERT_TRUE(whole);
    EXPECT_EQ(whole->user, "gateway");
    EXPECT_EQ(whole->pool, "telemetry");
    EXPECT_EQ(whole->name_space, "eu/west");
    EXPECT_EQ(whole->text(), "rados:gateway@telemetry/eu/west");
    const auto pool = rados_place("rados:telemetry");
    ASSERT_TRUE(pool);
    EXPECT_EQ(pool->user, "admin");
    EXPECT_EQ(pool->name_space, "");
    EXPECT_EQ(pool->text(), "rados:telemetry");
}

#ifdef PERFLEET_TEST_HAS_RADOS
TEST(SegmentHead, GoldenBytes) {
    const RadosHead head{5, 0x1a, 0x4000000, 100'000, 3};
    EXPECT_EQ(encode_head(head), "5 1a 4000000 186a0 3");
    EXPECT_EQ(decode_head_untrusted("5 1a 4000000 186a0 3"), head);
    for (const char* bad : {"", "5", "5 1a 4000000 186a0", "5 1a 4000000 186a0 3 ", "5 1a 4000000 186a0 x",
                            "5  1a 4000000 186a0 3", "11111111111111111 0 0 0 0"}) {
        EXPECT_FALSE(decode_head_untrusted(bad)) << bad;
    }
}

TEST(SegmentEntry, GoldenBytes) {
    const std::string number("\x07\0\0\0\0\0\0\0", 8);
    EXPECT_EQ(encode_entry({RadosEntry::Type::kDeleted, 7, {}, 0, 0}), number + std::string(1, '\0'));
    EXPECT_EQ(encode_entry({RadosEntry::Type::kInline, 7, "value", 0, 0}), number + "\1value");
    const std::string body = number + "\2" + std::string("\1\2\0\0\0\0\0\0", 8) + std::string("\3\0\0\0\0\0\0\0", 8);
    EXPECT_EQ(encode_entry({RadosEntry::Type::kBody, 7, {}, 0x201, 3}), body);
    const auto decoded = decode_entry_untrusted(body);
    ASSERT_TRUE(decoded);
    EXPECT_EQ(decoded->write_number, 7U);
    EXPECT_EQ(decoded->offset, 0x201U);
    EXPECT_EQ(decoded->size_bytes, 3U);
    for (const std::string& bad : {std::string{}, number, number + "\3", body + "x", body.substr(0, body.size() - 1),
                                   number + std::string("\0x", 2)}) {
        EXPECT_FALSE(decode_entry_untrusted(bad));
    }
}
#endif

}  // namespace
}  // namespace perfleet
