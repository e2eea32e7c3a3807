// Rows of a seL4 target as tracepoints that perf can read: each kernel entry with the names of its path, system call
// and capability type, each record of a tracepoint with its id and duration, each reading of the counter of uncovered
// time with what came to it. Their formats are made here, for no tracefs has them.
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
// Values. No threads of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "schemas/sel4/log_description.h"
#include "storage/block/block.h"
#include "storage/model/session.h"

namespace perfleet {

// How a series of such rows is read.
struct KernelLogEvent {
    Kind kind = Kind::kTracepoint;  // kKernelEntry, kTracepoint; kCounter: of uncovered time
    sel4::LogDescription description;

    friend bool operator==(const KernelLogEvent&, const KernelLogEvent&) = default;
};

// Of an event of that kind that says of which seL4 it is, or that counts uncovered time; nothing for all others.
[[nodiscard]] std::optional<KernelLogEvent> kernel_log_event(const EventRecord& event, Kind kind);

// "sel4:kernel_entry", "sel4:interrupts", "perfleet:uncovered": what stands before the colon is a system of tracepoints
// to perf.
[[nodiscard]] std::string kernel_log_name(const EventRecord& event, Kind kind);

// As tracefs would give it. `id` is the event's in the file.
[[nodiscard]] std::string kernel_log_format(const KernelLogEvent& event, const std::string& name, std::uint64_t id);

// The raw data of one row, with what perf weighs it by.
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
