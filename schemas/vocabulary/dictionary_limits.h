// Limits of the dictionaries of partitions. Not in batch_limits.h, which the smallest targets include, because only a
// store makes dictionaries.
#pragma once

#include <cstddef>
#include <cstdint>

namespace perfleet::limits {

inline constexpr std::uint32_t kDictionaryNodesMax = 1U << 18;     // nodes of a partition's dictionary
inline constexpr std::uint32_t kDictionaryImagesMax = 1U << 14;    // images of a partition's dictionary
inline constexpr std::size_t kDictionarySizeBytesMax = 8U << 20;   // of one dictionary, encoded
inline constexpr std::uint32_t kDictionaryMapNodesMax = 1U << 23;  // nodes of all epochs with a map, counted per epoch
inline constexpr std::uint32_t kDictionaryEpochNodesMax = 1U << 17;  // nodes of one epoch; larger ones share little
inline constexpr std::uint32_t kDictionaryEpochsMin = 4;  // epochs with a map; with fewer there is no dictionary
inline constexpr std::uint32_t kDictionaryReuse = 4;      // least ratio of the epochs' nodes to the dictionary's nodes

}  // namespace perfleet::limits
