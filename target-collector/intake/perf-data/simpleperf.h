// Records and features that only Android's simpleperf writes, by their numbers.
//
// A record above 64 KiB is split: the bodies of consecutive SPLIT records form one record with a size of 32 bits (misc
// holds the upper ones); SPLIT_END follows.
#pragma once

#include <cstddef>
#include <cstdint>

namespace perfleet::simpleperf {

inline constexpr std::uint32_t kKernelSymbols = 32'769;  // u32 size, then /proc/kallsyms
inline constexpr std::uint32_t kDso = 32'770;
inline constexpr std::uint32_t kSymbol = 32'771;
inline constexpr std::uint32_t kSplit = 32'772;
inline constexpr std::uint32_t kSplitEnd = 32'773;
inline constexpr std::uint32_t kEventId = 32'774;    // u64 count, then u64 index of the attr and u64 id of each
inline constexpr std::uint32_t kCallchain = 32'775;  // how a stack was unwound: for simpleperf's developers
inline constexpr std::uint32_t kUnwindingResult = 32'776;
inline constexpr std::uint32_t kTracingData = 32'777;  // u32 size, then the content of perf's HEADER_TRACING_DATA
inline constexpr std::uint32_t kDebug = 32'778;

inline constexpr unsigned kFirstFeature = 128;
inline constexpr unsigned kFile = 128;      // symbols (recorded_symbols.h)
inline constexpr unsigned kFile2 = 131;     // replaces kFile
inline constexpr unsigned kMetaInfo = 129;  // keys and values, each ended by a NUL

inline constexpr std::size_t kMergedSizeBytesMax = 64U << 20;  // of joined SPLIT records

}  // namespace perfleet::simpleperf
