// The data of seL4's kernel benchmarks in memory: kernel entries and tracepoints in the log buffer, utilisation in the
// IPC buffer. Collector, importer and query engine share it. Field names follow libsel4 (sel4/benchmark_track_types.h,
// benchmark_tracepoints_types.h, benchmark_utilisation_types.h).
//
// Kernel entry, on every architecture (little-endian):
//
//    0        8          12      13                                17
//    ┌────────┬──────────┬───────┬─────────────────────────────────┬───────────────────────────┐
//    │ start  │ duration │ path  │ detail: 29 bits of a union      │ padding to 24 (ia32: 20)  │
//    │ u64    │ u32      │ 3 bits│ a fault's word, or an interrupt │                           │
//    └────────┴──────────┴───────┴─────────────────────────────────┴───────────────────────────┘
//    detail of a syscall:    bits 0–3 number, 4–8 capability type, 9 fastpath, 10–28 invocation tag
//    detail of anything else: bits 0–2 core (set for interrupts on Arm only), 3–28 word
//
// The union begins at a byte boundary, not at bit 3 of the path's byte, because its base type is a word.
// Tracepoint: { word id; word duration }, 16 bytes or 8. It has no time and no core.
//
// Freestanding. The numbers are the kernel's: they must never change here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace perfleet::sel4 {

// The user supplies a large frame; the kernel fills this much of it (seL4_LogBufferSize), whatever the frame's size.
inline constexpr std::size_t kLogBufferSizeBytes = std::size_t{1} << 20;

enum class WordSize : std::uint8_t { k32 = 32, k64 = 64 };

// Size of a kernel entry: u64 is aligned to 8 bytes except on ia32.
enum class EntryLayout : std::uint8_t { k24Bytes = 24, kIa32 = 20 };

[[nodiscard]] constexpr std::size_t entry_size_bytes(EntryLayout layout) { return static_cast<std::size_t>(layout); }
[[nodiscard]] constexpr std::size_t tracepoint_size_bytes(WordSize word) { return word == WordSize::k64 ? 16 : 8; }

// Number of entries that fit the log buffer.
[[nodiscard]] constexpr std::uint64_t entry_capacity(EntryLayout layout) {
    return kLogBufferSizeBytes / entry_size_bytes(layout);
}
[[nodiscard]] constexpr std::uint64_t tracepoint_capacity(WordSize word) {
    return kLogBufferSizeBytes / tracepoint_size_bytes(word);
}
static_assert(entry_capacity(EntryLayout::k24Bytes) == 43'690 && entry_capacity(EntryLayout::kIa32) == 52'428);
static_assert(tracepoint_capacity(WordSize::k64) == 65'536 && tracepoint_capacity(WordSize::k32) == 131'072);

// Why the kernel was entered, independent of the numbering of its version.
enum class EntryPath : std::uint8_t {
    kUnknown,
    kInterrupt,
    kUnknownSyscall,
    kUserLevelFault,
    kDebugFault,
    kVmFault,
    kSyscall,
    kUnimplementedDevice,
    kVirtualMachine,  // VCPUFault on Arm, VMExit on x86
};
inline constexpr std::size_t kEntryPathCount = 9;

// Version 14.0.0 put `Unknown` first and removed `UnimplementedDevice`, so that most numbers changed by one.
enum class PathNumbering : std::uint8_t { kBefore14 = 13, kSince14 = 14 };

[[nodiscard]] constexpr EntryPath entry_path(PathNumbering numbering, std::uint8_t number) {
    constexpr std::array kBefore{
        EntryPath::kInterrupt, EntryPath::kUnknownSyscall, EntryPath::kUserLevelFault,      EntryPath::kDebugFault,
        EntryPath::kVmFault,   EntryPath::kSyscall,        EntryPath::kUnimplementedDevice, EntryPath::kVirtualMachine};
    constexpr std::array kSince{EntryPath::kUnknown,        EntryPath::kInterrupt,     EntryPath::kUnknownSyscall,
                                EntryPath::kUserLevelFault, EntryPath::kDebugFault,    EntryPath::kVmFault,
                                EntryPath::kSyscall,        EntryPath::kVirtualMachine};
    static_assert(kBefore.size() == 8 && kSince.size() == 8);
    if (number >= kSince.size()) {
        return EntryPath::kUnknown;
    }
    return numbering == PathNumbering::kSince14 ? kSince[number] : kBefore[number];
}

// The 29 bits after the path.
inline constexpr std::uint32_t kEntryDetailMask = (1U << 29) - 1;

struct SyscallDetail {
    std::uint32_t number = 0;  // −syscall, cut to 4 bits
    std::uint32_t cap_type = 0;
    bool is_fastpath = false;
    std::uint32_t invocation_tag = 0;

    friend bool operator==(const SyscallDetail&, const SyscallDetail&) = default;
};
[[nodiscard]] constexpr SyscallDetail syscall_detail(std::uint64_t detail) {
    return {static_cast<std::uint32_t>(detail & 0xf), static_cast<std::uint32_t>(detail >> 4 & 0x1f),
            (detail >> 9 & 1) != 0, static_cast<std::uint32_t>(detail >> 10 & 0x7ffff)};
}

struct WordDetail {
    std::uint32_t core = 0;
    std::uint32_t word = 0;  // interrupt number; low bits of a fault's instruction pointer or number

    friend bool operator==(const WordDetail&, const WordDetail&) = default;
};
[[nodiscard]] constexpr WordDetail word_detail(std::uint64_t detail) {
    return {static_cast<std::uint32_t>(detail & 7), static_cast<std::uint32_t>(detail >> 3 & 0x3ff'ffff)};
}

// benchmark_track_util_ipc_index: the values that seL4_BenchmarkGetThreadUtilisation writes to the IPC buffer, 64 bits
// each on every architecture.
enum class UtilisationIndex : std::uint8_t {
    kTcbUtilisation = 0,
    kTcbSchedules = 1,
    kTcbKernelUtilisation = 2,
    kTcbKernelEntries = 3,
    kIdleLocalUtilisation = 4,  // of the caller's core
    kIdleTcbUtilisation = 5,    // of the core that the thread is bound to
    kIdleSchedules = 6,
    kIdleKernelUtilisation = 7,
    kIdleKernelEntries = 8,
    kTotalUtilisation = 9,
    kTotalSchedules = 10,
    kTotalKernelUtilisation = 11,
    kTotalKernelEntries = 12,
};
inline constexpr std::size_t kUtilisationWords = 13;

// seL4_Error: the result of a benchmark call.
inline constexpr std::uint64_t kNoError = 0;
inline constexpr std::uint64_t kIllegalOperation = 3;

}  // namespace perfleet::sel4
