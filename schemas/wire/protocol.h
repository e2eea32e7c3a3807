// Numbers that the collector's messages carry, beside the schema. They travel: they must never change.
//
// Freestanding.
#pragma once

#include <cstdint>

namespace perfleet::protocol {

inline constexpr std::uint16_t kVersion = 1;
inline constexpr std::uint16_t kVersionMin = 1;

enum class RefusedReason : std::uint16_t {
    kMalformed = 1,  // columns, counts or seal are wrong
    kConflict = 2,   // this seq is stored with other content
    kNoCommonVersion = 3,
    kIdentity = 4,  // the target is not who it says
    kQuota = 5,
    kTooLarge = 6,
    kUnknownEpoch = 7,
    kSessionsFull = 8,
};

enum class ImageSort : std::uint16_t {
    kKernelSymbols =
        1,  // text: "<hex offset from the image's start> <type> <name>[\t<module>]\n", ascending; README.md
    kElf = 2,
};

enum class ControlCommand : std::uint16_t {
    kStart = 1,
    kStop = 2,
    kSetFrequency = 3,
    kSetPeriod = 4,
};

}  // namespace perfleet::protocol
