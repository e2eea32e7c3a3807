// The checksum of a message of the collector's protocol, in both directions: CRC-32C of all its bytes, with the
// checksum's own four bytes as 0. A message with a wrong checksum is damaged: the receiver counts it and ignores its
// contents.
//
//   byte 0    u32 0 │ u32 words of the segment
//   byte 8    the root pointer; the Envelope stands directly behind it
//   byte 16   u16 protocolVersion │ u16 tag of the union │ u32 checksum
//
// Freestanding. Integers little-endian. The place must not change.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/columns/crc32c.h"
#include "schemas/vocabulary/assert.h"

namespace perfleet::protocol {

inline constexpr std::size_t kChecksumOffsetBytes = 20;
inline constexpr std::size_t kChecksumEndBytes = kChecksumOffsetBytes + sizeof(std::uint32_t);

[[nodiscard]] inline std::array<std::byte, sizeof(std::uint32_t)> checksum_of(std::span<const std::byte> message) {
    std::uint32_t crc = crc32c(0, message.first(kChecksumOffsetBytes));
    crc = crc32c(crc, std::array<std::byte, sizeof crc>{});
    crc = crc32c(crc, message.subspan(kChecksumEndBytes));
    std::array<std::byte, sizeof crc> bytes{};
    for (std::byte& byte : bytes) {
        byte = static_cast<std::byte>(crc & 0xffU);
        crc >>= 8U;
    }
    return bytes;
}

[[nodiscard]] inline bool is_checksum_right(std::span<const std::byte> message_untrusted) {
    if (message_untrusted.size() < kChecksumEndBytes) {
        return false;
    }
    const auto bytes = checksum_of(message_untrusted);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (message_untrusted[kChecksumOffsetBytes + i] != bytes[i]) {
            return false;
        }
    }
    return true;
}

inline void set_checksum(std::span<std::byte> message) {
    PERFLEET_ASSERT(message.size() >= kChecksumEndBytes);
    const auto bytes = checksum_of(message);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        message[kChecksumOffsetBytes + i] = bytes[i];
    }
}

}  // namespace perfleet::protocol
