// Series and their counts. The numbers of counts are sent and stored: they must never change, and a number that was
// given up is never used again.
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

// Names of the cumulative counts that every batch carries, per series. 1 is rows produced; 2 to 63 are rows lost, by
// reason: produced = stored + expired + the sum of these. Counts from 64 on are not rows of the series.
enum class CountName : std::uint16_t {
    kProduced = 1,
    kLostKernelRing = 2,     // the kernel's ring was full (PERF_RECORD_LOST, PERF_FORMAT_LOST)
    kLostRingFull = 3,       // the collector's own ring was full
    kLostSpoolFull = 4,      // dropped because the spool was full while the gateway was unreachable
    kLostQuota = 5,          // refused by a quota of the gateway
    kLostSaturated = 6,      // a target's log buffer was full
    kLostRefused = 7,        // the gateway can never store the batch
    kLostMalformed = 8,      // an invalid record of the source
    kLostUnflushed = 9,      // still in the collector when it had to stop
    kLostKilled = 10,        // taken from the source, but not yet in the spool on disk when the collector was killed
    kLostNotDelivered = 11,  // counted by the event, but the kernel made no record of it
    kLostThrottled = 12,     // counted by the event while the kernel throttled it, without a record
    kLostTimerLate = 13,     // counted by the event, whose timer was late by a period or more, without a record
    kFramesUnmapped = 64,    // frames outside any mapping, dropped from their call chain
    kFramesTruncated = 65,   // frames beyond the deepest chain that is kept
    kThrottled = 66,         // times that the kernel stopped sampling for a while
    kOwnSkipped = 67,        // records about the collector itself, left out
    kLate = 68,              // records that came after later ones had been passed on
    // Incomplete call chains, by the reason why unwinding ended.
    kStacksNoTable = 69,     // code without unwind table or frame pointer
    kStacksBadAddress = 70,  // an impossible caller address
    kStacksNotCopied = 71,   // the end of the copied stack
    kUncleanEnd = 72,        // 1: the collector was killed; rows in the kernel's rings at that time are not counted
    kStacksCopied = 73,      // call chains that were unwound from a copy of the stack, because the kernel couldn't
    kBelowPeriod = 74,       // rows not sampled because their threads ended within a period
    kUnchecked = 75,         // 1: the event counts more than it samples, so the number of missing samples is unknown
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

// The printed name; without "lost_" for losses, which are printed under "lost".
[[nodiscard]] std::string_view count_name(CountName name);

}  // namespace perfleet
