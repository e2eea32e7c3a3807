// The records of `perf stat record`: values of counters. Payloads after the header, in the byte order of the file.
//
//  CPU_MAP      type u16 (0: numbers), count u16, number u16 each; 0xffff: any
//  THREAD_MAP   count u64; for each pid u64, command char[16]
//  STAT_CONFIG  count u64; for each tag u64, value u64
//  STAT         StatRecord
//  STAT_ROUND   StatRound, behind the STAT records of a moment
#pragma once

#include <cstdint>

namespace perfleet::perf {

inline constexpr std::uint32_t kThreadMapRecord = 73;
inline constexpr std::uint32_t kCpuMapRecord = 74;
inline constexpr std::uint32_t kStatConfigRecord = 75;
inline constexpr std::uint32_t kStatRecord = 76;
inline constexpr std::uint32_t kStatRoundRecord = 77;
inline constexpr std::uint32_t kEventUpdateRecord = 78;

// The count of one event since counting began.
struct StatRecord {
    std::uint64_t event_id;
    std::uint32_t cpu;     // ~0: any
    std::uint32_t thread;  // index in THREAD_MAP
    std::uint64_t value;
    std::uint64_t enabled_ns;
    std::uint64_t running_ns;
};
static_assert(sizeof(StatRecord) == 40);

struct StatRound {
    std::uint64_t type;     // 0: an interval is over, 1: the end
    std::uint64_t time_ns;  // since counting began
};
static_assert(sizeof(StatRound) == 16);

}  // namespace perfleet::perf
