// Limits of a Hello that both ends check: the gateway refuses a session whose Hello exceeds them, so a collector
// reports that before it collects anything. Other limits of a Hello: vocabulary/batch_limits.h.
//
// Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace perfleet::hello_limits {

inline constexpr std::size_t kNameSizeBytesMax = 256;  // of a target, architecture, clock, unit, collector version
inline constexpr std::uint32_t kCommandLineWordsMax = 4'096;
inline constexpr std::uint32_t kImageOffersMax = 64;  // of a Hello, or of an ImageOffers message

// Labels that a session can't have, because selections use these names for its target and architecture.
inline constexpr bool is_reserved_label(std::string_view key) { return key == "target" || key == "arch"; }

}  // namespace perfleet::hello_limits
