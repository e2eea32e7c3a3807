// What a target without an operating system says of itself: what a port fills in (../PORTING.md).
//
// Freestanding. Texts and spans are borrowed for the collector's life.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/time.h"
#include "target-collector/message/control.h"
#include "target-collector/message/hello.h"

namespace perfleet {

// Code that frames lie in: an ELF file, mapped from its beginning. `path` and build-id are how the query engine and
// perf find it again.
struct SmallImage {
    std::string_view path{};
    std::span<const std::byte> build_id{};  // at most limits::kBuildIdSizeBytesMax
    std::uint64_t address = 0;              // of the file's first byte
    std::uint64_t size_bytes = 0;
    std::uint32_t pid = 0;  // whose memory it lies in; 0: SmallTarget::pid
};

// Threads of one process share their mappings.
struct SmallThread {
    std::uint32_t tid = 0;  // of one thread of the target alone
    std::string_view name{};
    std::uint32_t pid = 0;  // 0: SmallTarget::pid
};

struct SmallTarget {
    TargetId target{};
    std::string_view name{};
    std::string_view architecture{};  // as `uname -m` says it on Linux
    // Of this run alone: 128 random bits. None where the target has no entropy: the gateway grants one, and until then
    // no more is kept than one batch holds.
    SessionId session{};
    // Of this board and of this start of it, where there are such. They are told; no session is made from them.
    std::uint32_t pid = 1;  // of threads and images that name none, and of threads that aren't named
    ClockDescription clock{};
    ClockPoint start_point{};
    HostDescription host{};
    std::span<const LabelDescription> labels{};  // no key twice
    std::span<const EventDescription> events{};
    // What they say may change: SmallCollector::redefine().
    std::span<const SmallImage> images{};
    std::span<const SmallThread> threads{};
    // Starts, stops and changes what is measured when an operator orders it; null: nobody does, and he is told so.
    ControlTaker* taker = nullptr;
};

struct SmallSample {
    EventNumber event{};
    Ticks time{};
    std::uint32_t cpu = 0;
    std::uint32_t tid = 0;
    std::uint64_t weight = 0;                    // in the event's unit
    std::span<const std::uint64_t> addresses{};  // the leaf first, then return addresses
};

}  // namespace perfleet
