// Strong types for identifiers, which can't be swapped for one another.
//
// Freestanding: no heap, no exceptions, no operating system. All types are plain values.
#pragma once

#include <compare>
#include <cstdint>

namespace perfleet {

// An integer with a meaning. `Tag` keeps two meanings from being mixed up; comparison is that of the integer.
template <class Tag, class Rep>
struct StrongInteger {
    using rep = Rep;
    Rep value{};

    friend constexpr auto operator<=>(const StrongInteger&, const StrongInteger&) = default;
};

// A host or board. Stable over reboots; made from the enrolled key or, without keys, from the target's name.
using TargetId = StrongInteger<struct TargetIdTag, std::uint64_t>;

// One run of one collector on one target: 128 random bits. All zero means "none yet".
struct SessionId {
    std::uint64_t high = 0;
    std::uint64_t low = 0;

    friend constexpr auto operator<=>(const SessionId&, const SessionId&) = default;
    [[nodiscard]] constexpr bool is_none() const { return high == 0 && low == 0; }
};

// Number of a batch within its session. The first is 1; 0 means "none".
using Seq = StrongInteger<struct SeqTag, std::uint64_t>;

// Number of an epoch within its session, from 0. Stack, image and string numbers mean something only within one.
using EpochNumber = StrongInteger<struct EpochTag, std::uint32_t>;

// Hours since 1970-01-01T00:00Z of the gateway's UTC: the time bucket that a batch is stored under.
using BucketNumber = StrongInteger<struct BucketTag, std::uint32_t>;

// Index into the session's event table (`Hello.events`). Series that belong to no event use kNoEvent.
using EventNumber = StrongInteger<struct EventTag, std::uint16_t>;
inline constexpr EventNumber kNoEvent{0xffff};

// A node of the epoch's stack tree. 0 is the empty stack, never defined; the first defined node is 1.
using StackNumber = StrongInteger<struct StackTag, std::uint32_t>;
inline constexpr StackNumber kEmptyStack{0};

// An image (executable, library, kernel) of the epoch, from 0.
using ImageNumber = StrongInteger<struct ImageTag, std::uint32_t>;

// A string of the epoch, from 1. 0 is the empty string, never defined.
using StringNumber = StrongInteger<struct StringTag, std::uint32_t>;
inline constexpr StringNumber kEmptyString{0};

}  // namespace perfleet
