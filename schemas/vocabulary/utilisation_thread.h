// Thread numbers of utilisation rows that mean no thread of the target's own.
#pragma once

#include <cstdint>

namespace perfleet {

inline constexpr std::uint64_t kIdleThread = 0;
inline constexpr std::uint64_t kWholeSystem = ~0ULL;

}  // namespace perfleet
