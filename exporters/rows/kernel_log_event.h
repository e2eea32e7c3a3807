// Exports rows of a seL4 target as tracepoints that perf can read: kernel entries with the names of path, system call
// and capability type, tracepoint records with id and duration, and readings of the counter of uncovered time with
// their increments. The formats are defined here, because no tracefs has them.
//
// A sample's raw data, all integers little-endian, texts end with a NUL and are cut to fit:
//
//   sel4:kernel_entry         0   8  common fields of every tracepoint
//                             8   8  duration, in ticks of the session's clock
//                            16  24  path: "interrupt", "syscall"
//                            40  16  syscall: "Call"; "-" on other paths
//                            56  32  cap: "endpoint"; "-" on other paths
//                            88   4  invocation, 0 on other paths
//                            92   4  1: on the fast path
//                            96   4  word: the interrupt; low bits of a fault's address or number; 0 of system calls
//   sel4:NAME                 0   8  common fields
//                             8   8  duration
//                            16   8  id
//   perfleet:uncovered        0   8  common fields
//                             8   8  uncovered: ticks that no sampling covered since the reading before
//                            16   8  of: ticks since that reading
//
// Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "schemas/sel4/log_description.h"
#include "schemas/session/session_record.h"
#include "storage/block/block.h"

namespace perfleet {

// How to read a series of such rows.
struct KernelLogEvent {
    Kind kind = Kind::kTracepoint;  // kKernelEntry, kTracepoint; kCounter: of uncovered time
    sel4::LogDescription description;

    friend bool operator==(const KernelLogEvent&, const KernelLogEvent&) = default;
};

// Defined for an event of this kind with a seL4 type, or that counts uncovered time; nothing for others.
[[nodiscard]] std::optional<KernelLogEvent> kernel_log_event(const EventRecord& event, Kind kind);

// "sel4:kernel_entry", "sel4:interrupts", "perfleet:uncovered": perf takes the part before the colon for the system of
// tracepoints.
[[nodiscard]] std::string kernel_log_name(const EventRecord& event, Kind kind);

// The format in the form of tracefs. `id` is the event's in the file.
[[nodiscard]] std::string kernel_log_format(const KernelLogEvent& event, const std::string& name, std::uint64_t id);

// The raw data of one row, and its weight for perf.
struct KernelLogSample {
    std::string raw;
    std::uint64_t ticks = 0;
    std::uint64_t cpu = 0;
};
[[nodiscard]] KernelLogSample kernel_log_sample(const KernelLogEvent& event, std::uint64_t id, const DecodedRows& rows,
                                                std::size_t row);
[[nodiscard]] KernelLogSample uncovered_time_sample(std::uint64_t id, std::uint64_t uncovered_ticks,
                                                    std::uint64_t of_ticks);

}  // namespace perfleet
