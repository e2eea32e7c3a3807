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

// For processors without the instruction. kTables[0] is the usual table for one byte; kTables[k][b] is for byte b
// followed by k zero bytes ("slicing by 8").
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

// The instruction has a latency of three cycles and a throughput of one, so long inputs are read in three parallel
// lanes. A lane's checksum is continued over the next lane as if that were zeros; CRC is linear, so this takes four
// look-ups of eight bits. Freestanding programs do without these tables.
#if (defined(__SSE4_2__) || defined(__ARM_FEATURE_CRC32)) && __STDC_HOSTED__
constexpr std::size_t kLaneSizeBytes = 512;

constexpr auto kBehindLane = [] {
    std::array<std::array<std::uint32_t, 256>, 4> tables{};
    for (std::size_t part = 0; part < tables.size(); ++part) {
        for (std::uint32_t bit = 0; bit < 8; ++bit) {
            std::uint32_t crc = 1U << (8 * part + bit);
            for (std::size_t i = 0; i < kLaneSizeBytes; ++i) {
                crc = (crc >> 8) ^ kTables[0][crc & 0xff];
            }
            for (std::size_t byte = 0; byte < 256; ++byte) {
                tables[part][byte] ^= (byte >> bit & 1) != 0 ? crc : 0;
            }
        }
    }
    return tables;
}();

std::uint32_t behind_lane(std::uint32_t crc) {
    return kBehindLane[0][crc & 0xff] ^ kBehindLane[1][(crc >> 8) & 0xff] ^ kBehindLane[2][(crc >> 16) & 0xff] ^
           kBehindLane[3][crc >> 24];
}

// Processes as many bytes as fill all lanes, and adds their number to `done`.
std::uint32_t step_lanes(std::uint32_t crc, std::span<const std::byte> bytes, std::size_t& done) {
    for (; bytes.size() - done >= 3 * kLaneSizeBytes; done += 3 * kLaneSizeBytes) {
        const std::byte* at = bytes.data() + done;
        std::uint32_t second = 0;
        std::uint32_t third = 0;
        for (const std::byte* end = at + kLaneSizeBytes; at != end; at += 8) {
            crc = step8(crc, at);
            second = step8(second, at + kLaneSizeBytes);
            third = step8(third, at + 2 * kLaneSizeBytes);
        }
        crc = behind_lane(behind_lane(crc) ^ second) ^ third;
    }
    return crc;
}
#else
std::uint32_t step_lanes(std::uint32_t crc, std::span<const std::byte>, std::size_t&) { return crc; }
#endif

}  // namespace

std::uint32_t crc32c(std::uint32_t crc, std::span<const std::byte> bytes) {
    std::size_t i = 0;
    crc = step_lanes(~crc, bytes, i);
    for (; i + 8 <= bytes.size(); i += 8) {
        crc = step8(crc, bytes.data() + i);
    }
    for (; i < bytes.size(); ++i) {
        crc = step1(crc, bytes[i]);
    }
    return ~crc;
}

}  // namespace perfleet
