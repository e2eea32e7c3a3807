#include "schemas/columns/crc32c.h"

#include <gtest/gtest.h>

#include <random>
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

// Bit by bit, from the polynomial.
std::uint32_t crc_by_bits(std::span<const std::byte> bytes) {
    std::uint32_t crc = ~0U;
    for (const std::byte byte : bytes) {
        crc ^= std::to_integer<std::uint32_t>(byte);
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78 : 0);
        }
    }
    return ~crc;
}

TEST(Crc32c, OfLongInputsIsThatOfTheirBits) {
    std::mt19937 random{1};
    std::vector<std::byte> bytes(20'000);
    for (std::byte& byte : bytes) {
        byte = static_cast<std::byte>(random());
    }
    const std::span<const std::byte> all{bytes};
    for (const std::size_t size :
         {511U, 512U, 513U, 1'535U, 1'536U, 1'537U, 1'544U, 3'071U, 3'072U, 3'073U, 4'608U, 19'999U, 20'000U}) {
        EXPECT_EQ(crc32c(0, all.first(size)), crc_by_bits(all.first(size))) << size;
        EXPECT_EQ(crc32c(0, all.last(size)), crc_by_bits(all.last(size))) << size;
    }
    for (int i = 0; i < 200; ++i) {
        const std::size_t from = random() % 5'000;
        const auto part = all.subspan(from, random() % 10'000);
        const std::size_t split = random() % (part.size() + 1);
        EXPECT_EQ(crc32c(crc32c(0, part.first(split)), part.subspan(split)), crc_by_bits(part)) << from;
    }
}

}  // namespace
}  // namespace perfleet
