// What objects of a store on RADOS take at most.
#pragma once

#include <cstddef>
#include <cstdint>

namespace perfleet::limits {

inline constexpr std::uint64_t kRadosSegmentSizeBytesMax = 64U << 20;  // of its body, then a new one is begun
inline constexpr std::uint64_t kRadosSegmentKeysMax = 100'000;         // of its index; Ceph warns of omaps of 200,000
inline constexpr std::uint64_t kRadosChangeSizeBytesMax = 80U << 20;   // below osd_max_write_size (90 MiB)
inline constexpr std::size_t kRadosInlineSizeBytesMax = 256;           // of a value that stands in the index
inline constexpr std::size_t kRadosIndexKeysMax = 1'000'000;  // of all domains' indexes that are kept in memory
inline constexpr std::uint64_t kRadosPendingSizeBytesMax = 64U << 20;  // of what was compacted and not written yet
inline constexpr std::uint64_t kRadosUnusedLifetimeS = 600;  // of segments that were compacted, for visits that run

}  // namespace perfleet::limits
