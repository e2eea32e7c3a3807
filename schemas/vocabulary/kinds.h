// The kinds of rows and their columns: kKindTable defines the kinds, kColumnTable the columns. Wire, store and scan use
// the same tables.
//
// Freestanding. The numbers of kinds and columns travel and are stored: they must never change, and a number that was
// given up is never used again. Every integer column holds one 64-bit unsigned value a row; the codec makes it small. A
// byte column holds the bytes of all rows one after the other, and the integer column named beside it holds each row's
// length.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/column_values.h"

namespace perfleet {

enum class ColumnId : std::uint16_t {
    kTime = 1,      // ticks of the session's clock
    kCpu = 2,       // cpu number
    kPid = 3,       // process (thread group) id; of a counter: the process that it is bound to, 2^32 - 1: the whole cpu
    kTid = 4,       // thread id
    kStack = 5,     // StackNumber of the call chain's leaf node; 0 when there is none
    kWeight = 6,    // events that this row stands for (the sampling period; ns for clock events)
    kValue = 7,     // duration in ticks, counter value, accumulated latency; control: new frequency or period; of a
                    // detailed sample of an imported profile: samples that its value stands for (sample_labels.h)
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
    kFrameOffset = 23,   // offset of the frame in its image (ImageFlags says of which kind)
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

    // Of detailed samples, as perf_event_open(2) describes them; in byte columns words of 64 bits, the lowest byte
    // first.
    kMisc = 44,             // perf_event_header.misc
    kIp = 45,               // instruction pointer, which may differ from the call chain's leaf
    kDataAddress = 46,      // address accessed, or address that a tracepoint or breakpoint reports
    kDataSource = 47,       // perf_mem_data_src: level, snoop, TLB …
    kAccessCost = 48,       // perf's weight, mostly cycles; of WEIGHT_STRUCT its three parts
    kPhysicalAddress = 49,  // of kDataAddress
    kTransaction = 50,      // PERF_TXN_*
    kCgroup = 51,           // id
    kDataPageSize = 52,     // bytes
    kCodePageSize = 53,     // bytes
    kChainSize = 54,        // 0: the stack is the whole chain
    kChainBytes = 55,       // byte column: a call chain that stack nodes can't express, with context markers
    kBranchesSize = 56,
    kBranchesBytes = 57,  // byte column: number of branches, hw_idx if the event has it, the branches
    kUserRegistersSize = 58,
    kUserRegistersBytes = 59,  // byte column: ABI (0: there are none), the registers of the event's mask
    kInterruptRegistersSize = 60,
    kInterruptRegistersBytes = 61,
};

enum class ColumnShape : std::uint8_t {
    kInteger = 1,  // one value a row
    kBytes = 2,    // bytes of all rows; sizes in `sizes`
};

struct ColumnRule {
    ColumnId id{};
    ColumnShape shape = ColumnShape::kInteger;
    ColumnId sizes{};           // kBytes only
    std::uint64_t max = ~0ULL;  // kInteger only: admit() refuses greater values
    std::uint64_t min = 0;      // and smaller ones
};

struct ColumnTraits {
    std::string_view name;  // as shown by `perfleet inspect`
    ColumnRule rule;        // unless its kind says otherwise
};

namespace column_table {

inline constexpr std::uint64_t kU16 = 0xffff;
inline constexpr std::uint64_t kU32 = 0xffff'ffff;

constexpr ColumnTraits integer(ColumnId id, std::string_view name, std::uint64_t max = ~0ULL, std::uint64_t min = 0) {
    return {name, {id, ColumnShape::kInteger, {}, max, min}};
}
constexpr ColumnTraits bytes(ColumnId id, std::string_view name, ColumnId sizes) {
    return {name, {id, ColumnShape::kBytes, sizes, 0}};
}

}  // namespace column_table

inline constexpr auto kColumnTable = [] {
    using enum ColumnId;
    using namespace column_table;
    return std::array{
        integer(kTime, "time"),
        integer(kCpu, "cpu", kU32),
        integer(kPid, "pid", kU32),
        integer(kTid, "tid", kU32),
        integer(kStack, "stack", limits::kStackNodesMax),
        integer(kWeight, "weight"),
        integer(kValue, "value"),
        integer(kRawSize, "raw_size", limits::kRawBytesMax),
        bytes(kRawBytes, "raw_bytes", kRawSize),
        integer(kTimeEnabled, "time_enabled"),
        integer(kTimeRunning, "time_running"),
        integer(kTaskOp, "task_op", kTaskOpLast, 1),
        integer(kParentPid, "parent_pid", kU32),
        integer(kParentTid, "parent_tid", kU32),
        integer(kString, "string", limits::kStringsMax),
        integer(kImage, "image", limits::kImagesMax - 1),
        integer(kAddress, "address"),
        integer(kSize, "size"),
        integer(kFileOffset, "file_offset"),
        integer(kProtection, "protection"),
        integer(kNumber, "number"),
        integer(kParent, "parent", limits::kStackNodesMax),
        integer(kFrameOffset, "frame_offset"),
        integer(kImageFlags, "image_flags", image_flags::kAll),
        integer(kBuildIdSize, "build_id_size", limits::kBuildIdSizeBytesMax),
        bytes(kBuildIdBytes, "build_id_bytes", kBuildIdSize),
        integer(kNameSize, "name_size", limits::kStringSizeBytesMax),
        bytes(kNameBytes, "name_bytes", kNameSize),
        integer(kDuration, "duration"),
        integer(kEntryPath, "entry_path", 255),
        integer(kEntryDetail, "entry_detail"),
        integer(kWindowStart, "window_start"),
        integer(kThread, "thread"),
        integer(kCycles, "cycles"),
        integer(kSchedules, "schedules"),
        integer(kKernelCycles, "kernel_cycles"),
        integer(kKernelEntries, "kernel_entries"),
        integer(kTestSize, "test_size"),
        integer(kGroup, "group", kU32),
        integer(kTest, "test", kU32),
        integer(kCommand, "command", kU16),
        integer(kEvent, "event", kU16),
        integer(kMisc, "misc", kU16),
        integer(kIp, "ip"),
        integer(kDataAddress, "data_address"),
        integer(kDataSource, "data_source"),
        integer(kAccessCost, "access_cost"),
        integer(kPhysicalAddress, "physical_address"),
        integer(kTransaction, "transaction"),
        integer(kCgroup, "cgroup"),
        integer(kDataPageSize, "data_page_size"),
        integer(kCodePageSize, "code_page_size"),
        integer(kChainSize, "chain_size", limits::kRawBytesMax),
        bytes(kChainBytes, "chain_bytes", kChainSize),
        integer(kBranchesSize, "branches_size", limits::kRawBytesMax),
        bytes(kBranchesBytes, "branches_bytes", kBranchesSize),
        integer(kUserRegistersSize, "user_registers_size", limits::kRawBytesMax),
        bytes(kUserRegistersBytes, "user_registers_bytes", kUserRegistersSize),
        integer(kInterruptRegistersSize, "interrupt_registers_size", limits::kRawBytesMax),
        bytes(kInterruptRegistersBytes, "interrupt_registers_bytes", kInterruptRegistersSize),
    };
}();

enum class Kind : std::uint8_t {
    kSample = 1,
    kTracepoint = 2,
    kKernelEntry = 3,
    kUtilisation = 4,
    kLatency = 5,
    kCounter = 6,
    kTask = 7,
    kStack = 8,
    kImage = 9,
    kString = 10,
    kControl = 11,  // an operator's change of the session while it ran
    // A sample or a tracepoint (its event decides which) with more data than a call chain. Rows of one event may be of
    // both kinds.
    kDetailedSample = 12,
};

// The time for which a row holds. Queries leave out rows outside of their range of time accordingly.
enum class RowSpan : std::uint8_t {
    kAtItsTime,
    kUntilItsTime,  // describes the time up to it
    kFromThenOn,    // gives meaning to all later rows
};

struct KindTraits {
    Kind kind{};
    std::string_view name;  // as printed
    // Columns in the order in which they are sealed, always all of them: a column that a source can't fill is constant,
    // which costs 10 bytes per batch. Readers ignore unknown ids. The first is kTime if rows have a time.
    std::span<const ColumnRule> columns = {};
    RowSpan holds = RowSpan::kAtItsTime;
    bool is_definition = false;   // gives meaning to the numbers in other rows; losing one closes the epoch
    bool is_measured = false;     // its rows may belong to events; rows of other kinds give meaning to these
    bool needs_event = false;     // its rows never have kNoEvent
    bool has_call_chain = false;  // counted by `top`, rolled up; the rows of scripts, timelines and flame graphs
    bool is_sampled = false;      // sealed in the order of cpus if that takes less space
};

namespace kind_columns {

consteval ColumnRule rule_of(ColumnId id) {
    return std::find_if(kColumnTable.begin(), kColumnTable.end(),
                        [&](const ColumnTraits& one) { return one.rule.id == id; })
        ->rule;
}
consteval ColumnRule number(std::uint64_t max, std::uint64_t min) {
    return {ColumnId::kNumber, ColumnShape::kInteger, {}, max, min};
}
consteval ColumnRule rule_of(const ColumnRule& rule) { return rule; }
consteval auto rules(auto... columns) { return std::array{rule_of(columns)...}; }

using enum ColumnId;
inline constexpr auto kOfSample = rules(kTime, kCpu, kPid, kTid, kStack, kWeight);
inline constexpr auto kOfTracepoint = rules(kTime, kCpu, kPid, kTid, kStack, kWeight, kValue, kRawSize, kRawBytes);
inline constexpr auto kOfKernelEntry = rules(kTime, kCpu, kDuration, kEntryPath, kEntryDetail);
inline constexpr auto kOfUtilisation =
    rules(kTime, kCpu, kWindowStart, kThread, kCycles, kSchedules, kKernelCycles, kKernelEntries);
inline constexpr auto kOfLatency = rules(kTime, kTestSize, kGroup, kTest, kValue);
inline constexpr auto kOfCounter = rules(kTime, kCpu, kPid, kTid, kValue, kTimeEnabled, kTimeRunning);
inline constexpr auto kOfTask = rules(kTime, kCpu, kTaskOp, kPid, kTid, kParentPid, kParentTid, kString, kImage,
                                      kAddress, kSize, kFileOffset, kProtection, kValue);
inline constexpr auto kOfStack = rules(number(limits::kStackNodesMax, 1), kParent, kImage, kFrameOffset);
inline constexpr auto kOfImage = rules(number(limits::kImagesMax - 1, 0), kImageFlags, kAddress, kSize, kBuildIdSize,
                                       kBuildIdBytes, kNameSize, kNameBytes);
inline constexpr auto kOfString = rules(number(limits::kStringsMax, 1), kNameSize, kNameBytes);
inline constexpr auto kOfControl = rules(kTime, kCommand, kEvent, kValue);
inline constexpr auto kOfDetailedSample =
    rules(kTime, kCpu, kPid, kTid, kStack, kWeight, kValue, kRawSize, kRawBytes, kMisc, kIp, kDataAddress, kDataSource,
          kAccessCost, kPhysicalAddress, kTransaction, kCgroup, kDataPageSize, kCodePageSize, kChainSize, kChainBytes,
          kBranchesSize, kBranchesBytes, kUserRegistersSize, kUserRegistersBytes, kInterruptRegistersSize,
          kInterruptRegistersBytes);

}  // namespace kind_columns

// By number.
inline constexpr std::array kKindTable{
    KindTraits{.name = "unknown"},
    KindTraits{.kind = Kind::kSample,
               .name = "sample",
               .columns = kind_columns::kOfSample,
               .is_measured = true,
               .needs_event = true,
               .has_call_chain = true,
               .is_sampled = true},
    KindTraits{.kind = Kind::kTracepoint,
               .name = "tracepoint",
               .columns = kind_columns::kOfTracepoint,
               .is_measured = true,
               .needs_event = true,
               .has_call_chain = true},
    KindTraits{.kind = Kind::kKernelEntry,
               .name = "kernel_entry",
               .columns = kind_columns::kOfKernelEntry,
               .is_measured = true},
    KindTraits{.kind = Kind::kUtilisation,
               .name = "utilisation",
               .columns = kind_columns::kOfUtilisation,
               .is_measured = true},
    KindTraits{.kind = Kind::kLatency, .name = "latency", .columns = kind_columns::kOfLatency, .is_measured = true},
    KindTraits{.kind = Kind::kCounter,
               .name = "counter",
               .columns = kind_columns::kOfCounter,
               .holds = RowSpan::kUntilItsTime,
               .is_measured = true,
               .needs_event = true},
    KindTraits{.kind = Kind::kTask, .name = "task", .columns = kind_columns::kOfTask, .holds = RowSpan::kFromThenOn},
    KindTraits{.kind = Kind::kStack,
               .name = "stack",
               .columns = kind_columns::kOfStack,
               .holds = RowSpan::kFromThenOn,
               .is_definition = true},
    KindTraits{.kind = Kind::kImage,
               .name = "image",
               .columns = kind_columns::kOfImage,
               .holds = RowSpan::kFromThenOn,
               .is_definition = true},
    KindTraits{.kind = Kind::kString,
               .name = "string",
               .columns = kind_columns::kOfString,
               .holds = RowSpan::kFromThenOn,
               .is_definition = true},
    KindTraits{
        .kind = Kind::kControl, .name = "control", .columns = kind_columns::kOfControl, .holds = RowSpan::kFromThenOn},
    KindTraits{.kind = Kind::kDetailedSample,
               .name = "detailed_sample",
               .columns = kind_columns::kOfDetailedSample,
               .is_measured = true,
               .needs_event = true,
               .has_call_chain = true},
};
inline constexpr std::uint8_t kKindFirst = 1;
inline constexpr std::uint8_t kKindLast = kKindTable.size() - 1;
static_assert([] {
    for (std::size_t i = 0; i < kKindTable.size(); ++i) {
        if (kKindTable[i].kind != static_cast<Kind>(i) || kKindTable[i].columns.size() > limits::kColumnsMax) {
            return false;
        }
    }
    return true;
}());

[[nodiscard]] constexpr bool is_known_kind(std::uint8_t raw) { return raw >= kKindFirst && raw <= kKindLast; }

// An unknown kind has the traits of "unknown".
[[nodiscard]] constexpr const KindTraits& traits_of(Kind kind) {
    const auto raw = static_cast<std::uint8_t>(kind);
    return kKindTable[is_known_kind(raw) ? raw : 0];
}
[[nodiscard]] constexpr bool is_definition(Kind kind) { return traits_of(kind).is_definition; }
[[nodiscard]] constexpr bool has_time(Kind kind) { return !is_definition(kind); }
[[nodiscard]] constexpr std::span<const ColumnRule> columns_of(Kind kind) { return traits_of(kind).columns; }
[[nodiscard]] constexpr std::string_view kind_name(Kind kind) { return traits_of(kind).name; }

[[nodiscard]] const ColumnRule* column_rule(Kind kind, ColumnId id);  // nullptr: rows of this kind don't have it
[[nodiscard]] std::string_view column_name(ColumnId id);

// Definitions, each after those that it refers to.
inline constexpr std::array kDefinitions{Kind::kString, Kind::kImage, Kind::kStack};

// All kinds with this trait.
template <bool KindTraits::*kTrait>
[[nodiscard]] consteval auto kinds_with() {
    constexpr auto kCount =
        std::count_if(kKindTable.begin(), kKindTable.end(), [](const KindTraits& one) { return one.*kTrait; });
    std::array<Kind, kCount> kinds{};
    std::size_t next = 0;
    for (const KindTraits& traits : kKindTable) {
        if (traits.*kTrait) {
            kinds[next++] = traits.kind;
        }
    }
    return kinds;
}
inline constexpr auto kKindsWithCallChains = kinds_with<&KindTraits::has_call_chain>();
static_assert(kinds_with<&KindTraits::is_definition>().size() == kDefinitions.size());

}  // namespace perfleet
