// Limits of the call chains that collectors and importers keep.
//
// Freestanding.
#pragma once

#include <cstdint>
#include <string_view>

#include "schemas/vocabulary/batch_limits.h"

namespace perfleet::limits {

// Frames of one call chain. Unwinding by tables takes up to 0.25 µs per frame, in an interrupt in the kernel. Readers
// of chains allow more, for inlined functions.
inline constexpr std::uint32_t kCallChainDepthMax = 640;
static_assert(kCallChainDepthMax < kStackChainMax);

}  // namespace perfleet::limits

namespace perfleet {

// Name of the image of the frame that replaces all callers beyond a limit.
inline constexpr std::string_view kCutChainName = "[truncated: depth]";

}  // namespace perfleet
