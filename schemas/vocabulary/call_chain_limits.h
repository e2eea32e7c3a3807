// How long a call chain is that collectors and importers keep.
//
// Freestanding.
#pragma once

#include <cstdint>
#include <string_view>

#include "schemas/vocabulary/batch_limits.h"

namespace perfleet::limits {

// Frames of one call chain. A walk by unwind tables may take a quarter of a microsecond each in the kernel, in an
// interrupt; readers of chains have room for inlined functions beside them.
inline constexpr std::uint32_t kCallChainDepthMax = 640;
static_assert(kCallChainDepthMax < kStackChainMax);

}  // namespace perfleet::limits

namespace perfleet {

// Name of the image of a frame that stands for all callers beyond a limit.
inline constexpr std::string_view kCutChainName = "[truncated: depth]";

}  // namespace perfleet
