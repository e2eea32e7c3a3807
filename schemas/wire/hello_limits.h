// Bounds of a Hello that both ends check: the gateway refuses a session whose Hello is beyond them, so a collector says
// so before it has collected anything. The other bounds of a Hello: vocabulary/limits.h.
//
// Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>

namespace perfleet::hello_limits {

inline constexpr std::size_t kNameSizeBytesMax = 256;  // of a target, architecture, clock, unit, collector version
inline constexpr std::uint32_t kCommandLineWordsMax = 4'096;

}  // namespace perfleet::hello_limits
