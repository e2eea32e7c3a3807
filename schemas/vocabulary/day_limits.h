// Limits of rollups of days. Apart from batch_limits.h, which the smallest targets include: only a store makes these.
#pragma once

#include <cstdint>

namespace perfleet::limits {

inline constexpr std::uint32_t kRollupDayHoursMin = 2;        // of one: it saves reading the others
inline constexpr std::uint32_t kRollupDayHoursMax = 1'024;    // epochs that one stands for
inline constexpr std::uint32_t kRollupDayRowsMax = 1U << 20;  // of an epoch that no rollup of an hour covers
inline constexpr std::uint32_t kRollupDaySaving = 2;          // its hours have so many times its sums, or it isn't kept

}  // namespace perfleet::limits
