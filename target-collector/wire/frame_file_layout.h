// Constants of the file format in file_driver.h. They must never change.
//
// Freestanding.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "target-collector/message/little_endian.h"

namespace perfleet::frame_file {

inline constexpr std::string_view kMagic = "PERFLEET";
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::size_t kHeaderSizeBytes = 16;
inline constexpr std::size_t kFrameHeaderSizeBytes = 4;

[[nodiscard]] inline std::array<std::byte, kHeaderSizeBytes> header() {
    std::array<std::byte, kHeaderSizeBytes> bytes{};
    std::memcpy(bytes.data(), kMagic.data(), kMagic.size());
    store_little_endian(bytes.data() + kMagic.size(), kVersion);
    return bytes;
}

}  // namespace perfleet::frame_file
