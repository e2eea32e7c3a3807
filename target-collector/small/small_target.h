// The description of a target without an operating system, filled in by a port (../PORTING.md).
//
// Freestanding. Texts and spans are borrowed for the collector's life.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/time.h"
#include "target-collector/message/control.h"
#include "target-collector/message/hello.h"

namespace perfleet {

// Code with frames: an ELF file, mapped from its beginning. The query engine and perf find the file by `path` and
// build-id.
struct SmallImage {
    std::string_view path{};
    std::span<const std::byte> build_id{};  // at most limits::kBuildIdSizeBytesMax
    std::uint64_t address = 0;              // of the file's first byte
    std::uint64_t size_bytes = 0;
    std::uint32_t pid = 0;  // the process that maps it; 0: SmallTarget::pid
};

// Threads of one process share their mappings.
struct SmallThread {
    std::uint32_t tid = 0;  // unique in the target
    std::string_view name{};
    std::uint32_t pid = 0;  // 0: SmallTarget::pid
};

struct SmallTarget {
    TargetId target{};
    std::string_view name{};
    std::string_view architecture{};  // like `uname -m` on Linux
    // Unique to this run: 128 random bits. Zero if the target has no entropy: then the gateway grants one; before that,
    // at most one batch is kept.
    SessionId session{};
    std::uint32_t pid = 1;  // for threads and images without a pid, and for unknown threads
    ClockDescription clock{};
    ClockPoint start_point{};
    HostDescription host{};
    std::span<const LabelDescription> labels{};  // keys are unique
    std::span<const EventDescription> events{};
    // Their content may change: then call SmallCollector::redefine().
    std::span<const SmallImage> images{};
    std::span<const SmallThread> threads{};
    // Carries out control requests: starts, stops and changes events; null: requests are rejected.
    ControlTaker* taker = nullptr;
};

struct SmallSample {
    EventNumber event{};
    Ticks time{};
    std::uint32_t cpu = 0;
    std::uint32_t tid = 0;
    std::uint64_t weight = 0;                    // in the event's unit
    std::span<const std::uint64_t> addresses{};  // leaf first, then return addresses
};

}  // namespace perfleet
