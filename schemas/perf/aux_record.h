// Records of perf.data with what processors trace by themselves (Intel PT, Arm ETM and others), whose form perf alone
// knows.
//
//  AUXTRACE_INFO   type u32, 0 u32, words of the type's own
//  AUXTRACE        size u64, offset u64, reference u64, index u32, tid u32, cpu u32, 0 u32; behind the record `size`
//                  bytes
//  AUXTRACE_ERROR  what couldn't be decoded
//  TIME_CONV       shift u64, multiplier u64, zero u64 and more: the processor's clock to perf's
#pragma once

#include <cstdint>

namespace perfleet::perf {

inline constexpr std::uint32_t kAuxtraceInfoRecord = 70;
inline constexpr std::uint32_t kAuxtraceRecord = 71;
inline constexpr std::uint32_t kAuxtraceErrorRecord = 72;
inline constexpr std::uint32_t kTimeConvRecord = 79;

inline constexpr std::uint64_t kAuxtraceSizeBytesMax = 64ULL << 20;  // of one record that is kept

}  // namespace perfleet::perf
