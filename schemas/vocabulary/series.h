// A series, and what is counted of it. The numbers of counts travel and are stored: they must never change, and a
// number that was given up is never used again.
//
// Freestanding.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/kinds.h"

namespace perfleet {

// The rows of one kind and one event of one session.
struct Series {
    Kind kind{};
    EventNumber event = kNoEvent;

    friend constexpr auto operator<=>(const Series&, const Series&) = default;
};

// Names of the cumulative counts that every batch carries, per series. 1 is what was produced; 2 to 63 are rows lost,
// by reason: produced = stored + expired + the sum of these. From 64 on they count things that are not rows of the
// series.
enum class CountName : std::uint16_t {
    kProduced = 1,
    kLostKernelRing = 2,     // the kernel's ring was full (PERF_RECORD_LOST, PERF_FORMAT_LOST)
    kLostRingFull = 3,       // the collector's own ring was full
    kLostSpoolFull = 4,      // dropped from the spool at its bound while the gateway was away
    kLostQuota = 5,          // refused by a quota of the gateway
    kLostSaturated = 6,      // a target's log buffer was full
    kLostRefused = 7,        // the gateway can never store the batch
    kLostMalformed = 8,      // a record of the source that could not be understood
    kLostUnflushed = 9,      // still on the way when the collector had to stop
    kLostKilled = 10,        // taken from the source, but not yet in the spool on disk when the collector was killed
    kLostNotDelivered = 11,  // counted by the event, but the kernel made no record of it
    kLostThrottled = 12,     // likewise, while the kernel throttled the event
    kLostTimerLate = 13,     // likewise, as the timer of the event came a period late, or more
    kFramesUnmapped = 64,    // frames outside any mapping, dropped from their call chain
    kFramesTruncated = 65,   // frames beyond the deepest chain that is kept
    kThrottled = 66,         // times the kernel stopped sampling for a while
    kOwnSkipped = 67,        // records of the collector itself, left out
    kLate = 68,              // records that came after later ones had been passed on
    // Call chains that were unwound and aren't whole, by what their last frame met.
    kStacksNoTable = 69,     // code without unwind table or frame pointer
    kStacksBadAddress = 70,  // a caller that can't be one
    kStacksNotCopied = 71,   // the end of the stack's copy
    kUncleanEnd = 72,        // 1: the collector was killed; rows that were still in the kernel's rings are in no count
    kStacksCopied = 73,      // call chains that couldn't be unwound in the kernel, but from a copy of the stack
    kBelowPeriod = 74,       // rows that the time, or the events, of threads would have been that ended within a period
    kUnchecked = 75,         // 1: the event counts more than it samples, so samples that are missing can't be known
    kNamesNotRead = 76,      // samples of interpreted programs with functions whose names weren't read in time
};
inline constexpr std::uint16_t kCountLostFirst = 2;
inline constexpr std::uint16_t kCountLostLast = 63;

[[nodiscard]] constexpr bool is_loss(CountName name) {
    const auto raw = static_cast<std::uint16_t>(name);
    return raw >= kCountLostFirst && raw <= kCountLostLast;
}

// One cumulative count since the session began. A list of them holds each (series, name) at most once.
struct CountEntry {
    Series series;
    CountName name{};
    std::uint64_t value = 0;

    friend constexpr auto operator<=>(const CountEntry&, const CountEntry&) = default;
};

// As printed; losses without "lost_", for they stand under "lost".
[[nodiscard]] std::string_view count_name(CountName name);

}  // namespace perfleet
