#include "schemas/columns/crc32c.h"

#include <array>
#include <cstring>

#if defined(__SSE4_2__)
#include <nmmintrin.h>
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

namespace perfleet {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78;

// For processors without the instruction. kTables[0] is the usual table of one byte; kTables[k][b] is b followed by k
// zero bytes ("slicing by 8").
[[maybe_unused]] constexpr auto kTables = [] {
    std::array<std::array<std::uint32_t, 256>, 8> tables{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t crc = byte;
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
        }
        tables[0][byte] = crc;
    }
    for (std::size_t k = 1; k < 8; ++k) {
        for (std::size_t byte = 0; byte < 256; ++byte) {
            tables[k][byte] = (tables[k - 1][byte] >> 8) ^ tables[0][tables[k - 1][byte] & 0xff];
        }
    }
    return tables;
}();

[[maybe_unused]] std::uint32_t load_u32(const std::byte* at) {
    return static_cast<std::uint32_t>(at[0]) | static_cast<std::uint32_t>(at[1]) << 8 |
           static_cast<std::uint32_t>(at[2]) << 16 | static_cast<std::uint32_t>(at[3]) << 24;
}

std::uint32_t step8(std::uint32_t crc, const std::byte* at) {
#if defined(__SSE4_2__)
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    return static_cast<std::uint32_t>(_mm_crc32_u64(crc, word));
#elif defined(__ARM_FEATURE_CRC32)
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    return __crc32cd(crc, word);
#else
    const std::uint32_t low = crc ^ load_u32(at);
    const std::uint32_t high = load_u32(at + 4);
    return kTables[7][low & 0xff] ^ kTables[6][(low >> 8) & 0xff] ^ kTables[5][(low >> 16) & 0xff] ^
           kTables[4][low >> 24] ^ kTables[3][high & 0xff] ^ kTables[2][(high >> 8) & 0xff] ^
           kTables[1][(high >> 16) & 0xff] ^ kTables[0][high >> 24];
#endif
}

std::uint32_t step1(std::uint32_t crc, std::byte byte) {
#if defined(__SSE4_2__)
    return _mm_crc32_u8(crc, std::to_integer<std::uint8_t>(byte));
#elif defined(__ARM_FEATURE_CRC32)
    return __crc32cb(crc, std::to_integer<std::uint8_t>(byte));
#else
    return (crc >> 8) ^ kTables[0][(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xff];
#endif
}

}  // namespace

std::uint32_t crc32c(std::uint32_t crc, std::span<const std::byte> bytes) {
    crc = ~crc;
    std::size_t i = 0;
    for (; i + 8 <= bytes.size(); i += 8) {
        crc = step8(crc, bytes.data() + i);
    }
    for (; i < bytes.size(); ++i) {
        crc = step1(crc, bytes[i]);
    }
    return ~crc;
}

}  // namespace perfleet
