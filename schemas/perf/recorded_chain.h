// Call chains in ColumnId::kChainBytes.
//
// Freestanding.
#pragma once

#include <cstdint>

namespace perfleet::perf {

// The only value of a row: the sample's recorded call chain has no frames.
inline constexpr std::uint64_t kNoFrames = 0;

}  // namespace perfleet::perf
