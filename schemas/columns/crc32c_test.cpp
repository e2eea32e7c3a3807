#include "schemas/columns/crc32c.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace perfleet {
namespace {

std::uint32_t crc_of(std::string_view text) { return crc32c(0, std::as_bytes(std::span{text})); }

TEST(Crc32c, GivesThePublishedValues) {
    EXPECT_EQ(crc_of("123456789"), 0xE3069283U);
    // RFC 3720, B.4: 32 bytes of zeros, of ones, ascending.
    EXPECT_EQ(crc32c(0, std::vector<std::byte>(32, std::byte{0})), 0x8A9136AAU);
    EXPECT_EQ(crc32c(0, std::vector<std::byte>(32, std::byte{0xff})), 0x62A8AB43U);
    std::vector<std::byte> ascending;
    for (int i = 0; i < 32; ++i) {
        ascending.push_back(static_cast<std::byte>(i));
    }
    EXPECT_EQ(crc32c(0, ascending), 0x46DD794EU);
}

TEST(Crc32c, OfPartsIsThatOfTheWhole) {
    const std::string_view text = "the quick brown fox jumps over the lazy dog";
    for (std::size_t split = 0; split <= text.size(); ++split) {
        const auto bytes = std::as_bytes(std::span{text});
        EXPECT_EQ(crc32c(crc32c(0, bytes.first(split)), bytes.subspan(split)), crc_of(text)) << split;
    }
}

}  // namespace
}  // namespace perfleet
