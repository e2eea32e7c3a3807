// Limits of dictionaries of partitions. Apart from batch_limits.h, which the smallest targets include: only a store
// makes these.
#pragma once

#include <cstddef>
#include <cstdint>

namespace perfleet::limits {

inline constexpr std::uint32_t kDictionaryNodesMax = 1U << 18;     // of a partition
inline constexpr std::uint32_t kDictionaryImagesMax = 1U << 14;    // likewise
inline constexpr std::size_t kDictionarySizeBytesMax = 8U << 20;   // of one, encoded
inline constexpr std::uint32_t kDictionaryMapNodesMax = 1U << 23;  // of all epochs that have a map, as they define them
inline constexpr std::uint32_t kDictionaryEpochNodesMax = 1U << 17;  // of one epoch; what defines more shares little
inline constexpr std::uint32_t kDictionaryEpochsMin = 4;             // that have a map, or none is kept
inline constexpr std::uint32_t kDictionaryReuse = 4;  // nodes of epochs for each of the dictionary, likewise

}  // namespace perfleet::limits
