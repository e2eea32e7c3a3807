// CRC-32C (Castagnoli, reflected polynomial 0x82F63B78), as in RFC 3720 appendix B.4: crc32c("123456789") = 0xE3069283.
//
// Freestanding. Uses the machine's instruction where the build allows it (SSE 4.2, ARMv8 CRC), else tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace perfleet {

// Continues from `crc`; begin with 0.
[[nodiscard]] std::uint32_t crc32c(std::uint32_t crc, std::span<const std::byte> bytes);

}  // namespace perfleet
