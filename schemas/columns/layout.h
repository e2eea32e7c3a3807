// Which columns the rows of each kind have. The same table rules the wire, the disk and the scan.
//
// Freestanding. Every integer column holds one 64-bit unsigned value a row; the codec makes it small. A byte column
// holds the bytes of all rows one after the other, and the integer column named beside it holds each row's length.
// Column ids travel and are stored: they must never change, and one that was given up is never used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "schemas/vocabulary/kind.h"
#include "schemas/vocabulary/time.h"

namespace perfleet {

enum class ColumnId : std::uint16_t {
    kTime = 1,      // ticks of the session's clock
    kCpu = 2,       // cpu number
    kPid = 3,       // process (thread group) id; of a counter: whom it is bound to, 2^32 - 1 the whole cpu
    kTid = 4,       // thread id
    kStack = 5,     // StackNumber of the call chain's leaf node; 0 when there is none
    kWeight = 6,    // events that this row stands for (the sampling period; ns for clock events)
    kValue = 7,     // duration in ticks, counter value, accumulated latency; control: new frequency or period
    kRawSize = 8,   // length of this row's part of kRawBytes
    kRawBytes = 9,  // byte column: raw tracepoint data

    kTimeEnabled = 10,  // ns that a counter was enabled
    kTimeRunning = 11,  // ns that it was really counting

    kTaskOp = 12,  // TaskOp
    kParentPid = 13,
    kParentTid = 14,
    kString = 15,      // StringNumber: comm (kTaskOp comm), path (kTaskOp cgroup) or nothing
    kImage = 16,       // ImageNumber: what is mapped; of a stack node: the frame's image
    kAddress = 17,     // start of a mapping; of an image: its load address (kernel, anonymous memory), else 0
    kSize = 18,        // length of a mapping, bytes
    kFileOffset = 19,  // file offset of a mapping, bytes
    kProtection = 20,  // PROT_* of a mapping in the low 32 bits, MAP_* flags in the high

    kNumber = 21,        // the number that a definition defines
    kParent = 22,        // StackNumber of the caller; 0 at the root
    kFrameOffset = 23,   // offset of the frame in its image (ImageFlags says of which sort)
    kImageFlags = 24,    // ImageFlags
    kBuildIdSize = 25,   // 0 to 20
    kBuildIdBytes = 26,  // byte column
    kNameSize = 27,
    kNameBytes = 28,  // byte column: path of an image, text of a string (UTF-8 or as the kernel gave it, no NUL)

    kDuration = 29,       // kernel entry: ticks in the kernel
    kEntryPath = 30,      // kernel entry: path number of the kernel's version
    kEntryDetail = 31,    // kernel entry: syscall view or interrupt view, as logged
    kWindowStart = 32,    // utilisation: ticks
    kThread = 33,         // utilisation: target's id of the thread; 0 idle, ~0 the whole system
    kCycles = 34,         // utilisation: cycles that the thread ran
    kSchedules = 35,      // utilisation: times that it was switched to
    kKernelCycles = 36,   // utilisation: cycles in the kernel
    kKernelEntries = 37,  // utilisation: kernel entries
    kTestSize = 38,       // latency: N, primary latencies in one accumulated latency
    kGroup = 39,          // latency: group number, from 1
    kTest = 40,           // latency: test number within the group, from 1
    kCommand = 41,        // control: protocol::ControlCommand
    kEvent = 42,          // control: EventNumber; kNoEvent: all of the session's
    kRecordType = 43,     // record: perf::RecordType in the low 32 bits, its misc bits above
};

enum class TaskOp : std::uint8_t {
    kComm = 1,  // the thread's name is kString
    kExec = 2,  // as kComm, by exec: earlier mappings of the process are gone
    kFork = 3,  // (kPid, kTid) was made by (kParentPid, kParentTid) and inherits name and mappings
    kExit = 4,
    kMap = 5,       // kImage is mapped at kAddress for kSize from kFileOffset
    kPresent = 6,   // at the epoch's start: the thread exists, with name kString
    kLost = 7,      // here the kernel dropped kSize records of cpu kCpu (event in kValue; ~0: not known)
    kThrottle = 8,  // kernel stopped sampling on cpu kCpu
    kUnthrottle = 9,
    kCgroup = 10,  // kPid is in the cgroup kString; the first of a process in an epoch holds from before
};
inline constexpr std::uint64_t kTaskOpLast = 10;

// Bits of kImageFlags.
namespace image_flags {
inline constexpr std::uint64_t kKernel = 1;  // frames run in the kernel
inline constexpr std::uint64_t kFileOffset =
    2;  // kFrameOffset is an offset in the file (ELF); else from the image's start
inline constexpr std::uint64_t kAnonymous = 4;  // memory without a file: JIT, heap, stack ("//anon", "[heap]");
                                                // with a size: one function that was made there, and its name
inline constexpr std::uint64_t kVdso = 8;
inline constexpr std::uint64_t kUnknown = 16;       // stands for "outside any mapping"; offset is 0
inline constexpr std::uint64_t kKernelModule = 32;  // with kKernel: a module, offset from its start
inline constexpr std::uint64_t kContentHash =
    64;  // kBuildIdBytes is a hash of the file's content, for it has no build-id
inline constexpr std::uint64_t kAll = 127;
}  // namespace image_flags

enum class ColumnShape : std::uint8_t {
    kInteger = 1,  // one value a row
    kBytes = 2,    // bytes of all rows; sizes in `sizes`
};

struct ColumnRule {
    ColumnId id{};
    ColumnShape shape = ColumnShape::kInteger;
    ColumnId sizes{};           // kBytes only
    std::uint64_t max = ~0ULL;  // kInteger only: greater values are refused by admit()
};

// The columns that rows of this kind have, in the order in which they are sealed. All of them, always: a column that a
// source can't fill is constant, which costs 10 bytes a batch. Readers ignore ids that they don't know.
[[nodiscard]] std::span<const ColumnRule> columns_of(Kind kind);

// Rows of this kind have a time: kTime, which is their first column.
[[nodiscard]] constexpr bool has_time(Kind kind) { return !is_definition(kind); }

// A row on its way into columns. Borrowed.
struct RowView {
    Series series;
    Ticks time;  // of kinds without one: the time at hand
    // One for each other kInteger column of columns_of(series.kind), in that order (sizes of bytes included).
    std::span<const std::uint64_t> integers;
    std::span<const std::span<const std::byte>> bytes = {};  // one for each kBytes column
};

// As shown by `perfleet inspect`: "time", "raw_bytes".
[[nodiscard]] std::string_view column_name(ColumnId id);

}  // namespace perfleet
