// Call chains in ColumnId::kChainBytes.
//
// Freestanding.
#pragma once

#include <cstdint>

namespace perfleet::perf {

// Alone in the column: the sample was recorded with a call chain that has no frames.
inline constexpr std::uint64_t kNoFrames = 0;

}  // namespace perfleet::perf
