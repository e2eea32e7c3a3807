// Numbers that the collector's messages carry, beside the schema. They travel: from the first release on they never
// change.
//
// Freestanding.
#pragma once

#include <cstdint>

#include "schemas/vocabulary/ids.h"

namespace perfleet::protocol {

// In the envelope of each message. Peers of other versions are refused by name.
inline constexpr std::uint16_t kVersion = 1;

// In a file of frames: of a target without entropy, which nobody could grant a session. Whoever imports the file gives
// it one; a gateway never sees it.
inline constexpr SessionId kSessionGivenAtImport{0x7065'7266'6c65'6574, 0};

enum class RefusedReason : std::uint16_t {
    kMalformed = 1,     // columns, counts or seal are wrong
    kConflict = 2,      // this seq is stored with other content
    kOtherVersion = 3,  // of the protocol, or a kind or codec that this version doesn't have
    kIdentity = 4,      // the target is not who it says
    kQuota = 5,
    kTooLarge = 6,
    kUnknownEpoch = 7,
    kSessionsFull = 8,
    kReplay = 9,  // the session is known to be further: its clock or sequence went backwards
    kAhead = 10,  // the time of a batch lies hours ahead of the gateway's clock; of a session: for now
};

enum class ImageType : std::uint16_t {
    kKernelSymbols = 1,  // a zstd frame of text: "<hex offset from the image's start> <type> <name>\n",
                         // ascending; README.md
    kElfSymbols = 2,     // a zstd frame of an ELF file with its symbol tables, without code and data; README.md
};

enum class ControlCommand : std::uint16_t {
    kStart = 1,
    kStop = 2,
    kSetFrequency = 3,  // in Hz
    kSetPeriod = 4,     // in the event's unit
};

// In rows of kind control alone: the benchmark of the session has ended. The value is 0, its exit status, or
// kRunIncomplete where not all of its rows came.
inline constexpr std::uint16_t kRunEnded = 0x8000;
inline constexpr std::uint64_t kRunIncomplete = 256;

// What became of an order on its target.
enum class ControlOutcome : std::uint16_t {
    kApplied = 1,
    kUnsupported = 2,   // this target can't do it, whatever the value
    kUnknownEvent = 3,  // the session has no such event
    kOutOfRange = 4,    // it can, but not with this value
    kFailed = 5,        // it tried, and all is as it was
    kEnded = 6,         // nothing is measured any more: what is left of the session is being delivered
};

}  // namespace perfleet::protocol
