// Numbers in the collector's messages that the schema doesn't define. They are sent: from the first release on they
// must never change.
//
// Freestanding.
#pragma once

#include <cstdint>

#include "schemas/vocabulary/ids.h"

namespace perfleet::protocol {

// The protocol version in the envelope of each message. Peers of other versions are refused, naming the version.
inline constexpr std::uint16_t kVersion = 1;

// The session id in a file of frames from a target without entropy, which no gateway could grant an id.
// `perfleet import` replaces it; a gateway never sees it.
inline constexpr SessionId kSessionGivenAtImport{0x7065'7266'6c65'6574, 0};

enum class RefusedReason : std::uint16_t {
    kMalformed = 1,     // columns, counts or seal are wrong
    kConflict = 2,      // this seq is stored with other content
    kOtherVersion = 3,  // another protocol version; or a kind or codec unknown to this version
    kIdentity = 4,      // the target isn't the one of its key, or of the session
    kQuota = 5,
    kTooLarge = 6,
    kUnknownEpoch = 7,
    kSessionsFull = 8,
    kReplay = 9,  // the session is known to be further ahead: its clock or sequence went backwards
    kAhead = 10,  // a batch's time is hours ahead of the gateway's clock; of a session: deferred
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

// Only in rows of kind control: the session's benchmark has ended. The value is 0, its exit status, or kRunIncomplete
// if some of its rows didn't arrive.
inline constexpr std::uint16_t kRunEnded = 0x8000;
inline constexpr std::uint64_t kRunIncomplete = 256;

// The outcome of a control request on its target.
enum class ControlOutcome : std::uint16_t {
    kApplied = 1,
    kUnsupported = 2,   // this target can't do it with any value
    kUnknownEvent = 3,  // the session has no such event
    kOutOfRange = 4,    // this target can't do it with this value
    kFailed = 5,        // it failed, and nothing has changed
    kEnded = 6,         // nothing is measured any more; the rest of the session is being delivered
};

}  // namespace perfleet::protocol
