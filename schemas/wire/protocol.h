// Numbers that the collector's messages carry, beside the schema. They travel: they must never change.
//
// Freestanding.
#pragma once

#include <cstdint>

#include "schemas/columns/codec.h"

namespace perfleet::protocol {

//   1  codecs up to kBytes; rows of kind sample in the order in which they came
//   2  codecs up to kDictionary; rows of kind sample by cpu
inline constexpr std::uint16_t kVersion = 2;
inline constexpr std::uint16_t kVersionMin = 1;

// The greatest codec that a peer which speaks this version reads; 0, no version known yet: what all of them read.
[[nodiscard]] constexpr Codec newest_codec_of(std::uint16_t version) {
    return version >= 2 ? Codec::kDictionary : Codec::kBytes;
}

enum class RefusedReason : std::uint16_t {
    kMalformed = 1,  // columns, counts or seal are wrong
    kConflict = 2,   // this seq is stored with other content
    kNoCommonVersion = 3,
    kIdentity = 4,  // the target is not who it says
    kQuota = 5,
    kTooLarge = 6,
    kUnknownEpoch = 7,
    kSessionsFull = 8,
    kWentBack = 9,  // the session is known to be further: its clock or sequence went backwards
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
