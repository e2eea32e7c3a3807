// Thread numbers of utilisation rows that don't stand for a thread of the target.
#pragma once

#include <cstdint>

namespace perfleet {

inline constexpr std::uint64_t kIdleThread = 0;
inline constexpr std::uint64_t kWholeSystem = ~0ULL;

}  // namespace perfleet
