// Limits of the objects of a store on RADOS.
#pragma once

#include <cstddef>
#include <cstdint>

namespace perfleet::limits {

inline constexpr std::uint64_t kRadosSegmentSizeBytesMax = 64U << 20;  // of its body; then a new segment begins
inline constexpr std::uint64_t kRadosSegmentKeysMax = 100'000;         // of its index; Ceph warns of omaps of 200,000
inline constexpr std::uint64_t kRadosChangeSizeBytesMax = 80U << 20;   // below osd_max_write_size (90 MiB)
inline constexpr std::size_t kRadosInlineSizeBytesMax = 256;           // of a value that is kept in the index
inline constexpr std::size_t kRadosIndexKeysMax = 1'000'000;           // in memory, of all domains' indexes
inline constexpr std::uint64_t kRadosPendingSizeBytesMax = 64U << 20;  // compacted, but not written yet
inline constexpr std::uint64_t kRadosUnusedLifetimeS = 600;  // of compacted segments, for visits that still run

}  // namespace perfleet::limits
