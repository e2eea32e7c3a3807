// Numbers of the file format that file_driver.h describes. They must never change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace perfleet::frame_file {

inline constexpr std::string_view kMagic = "PERFLEET";
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::size_t kHeaderSizeBytes = 16;
inline constexpr std::size_t kFrameHeaderSizeBytes = 4;

}  // namespace perfleet::frame_file
