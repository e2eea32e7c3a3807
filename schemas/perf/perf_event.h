// The perf_event ABI in kernel rings and in perf.data: numbers and layouts that collector, importer and exporter share.
// Names follow linux/perf_event.h and perf.data's documentation, so that they can be looked up there.
//
// Freestanding: no Linux header is needed. All integers are little-endian in what perfleet writes.
#pragma once

#include <cstdint>

namespace perfleet::perf {

enum class RecordType : std::uint32_t {
    kMmap = 1,
    kLost = 2,
    kComm = 3,
    kExit = 4,
    kThrottle = 5,
    kUnthrottle = 6,
    kFork = 7,
    kRead = 8,
    kSample = 9,
    kMmap2 = 10,
    kAux = 11,
    kItraceStart = 12,
    kLostSamples = 13,
    kSwitch = 14,
    kSwitchCpuWide = 15,
    kNamespaces = 16,
    kKsymbol = 17,
    kBpfEvent = 18,
    kCgroup = 19,
    kTextPoke = 20,
    kAuxOutputHwId = 21,
    kCallchainDeferred = 22,
    // perf.data only
    kHeaderAttr = 64,
    kHeaderEventType = 65,
    kHeaderTracingData = 66,
    kHeaderBuildId = 67,
    kFinishedRound = 68,
    kHeaderFeature = 80,
    kCompressed = 81,
    kFinishedInit = 82,
    kCompressed2 = 83,
};

struct RecordHeader {
    std::uint32_t type;
    std::uint16_t misc;
    std::uint16_t size_bytes;  // of the whole record, this header included
};
static_assert(sizeof(RecordHeader) == 8);

namespace misc {
inline constexpr std::uint16_t kCpumodeMask = 7;
inline constexpr std::uint16_t kKernel = 1;
inline constexpr std::uint16_t kUser = 2;
inline constexpr std::uint16_t kCommExec = 1U << 13;
inline constexpr std::uint16_t kMmapData = 1U << 13;
inline constexpr std::uint16_t kForkExec = 1U << 13;
inline constexpr std::uint16_t kSwitchOut = 1U << 13;
inline constexpr std::uint16_t kMmapBuildId = 1U << 14;
inline constexpr std::uint16_t kSwitchOutPreempt = 1U << 14;
inline constexpr std::uint16_t kBuildIdSize = 1U << 15;  // in kHeaderBuildId
}  // namespace misc

// Bits of perf_event_attr.sample_type, in the order of a sample's fields.
namespace sample_type {
inline constexpr std::uint64_t kIp = 1U << 0;
inline constexpr std::uint64_t kTid = 1U << 1;
inline constexpr std::uint64_t kTime = 1U << 2;
inline constexpr std::uint64_t kAddr = 1U << 3;
inline constexpr std::uint64_t kRead = 1U << 4;
inline constexpr std::uint64_t kCallchain = 1U << 5;
inline constexpr std::uint64_t kId = 1U << 6;
inline constexpr std::uint64_t kCpu = 1U << 7;
inline constexpr std::uint64_t kPeriod = 1U << 8;
inline constexpr std::uint64_t kStreamId = 1U << 9;
inline constexpr std::uint64_t kRaw = 1U << 10;
inline constexpr std::uint64_t kBranchStack = 1U << 11;
inline constexpr std::uint64_t kRegsUser = 1U << 12;
inline constexpr std::uint64_t kStackUser = 1U << 13;
inline constexpr std::uint64_t kWeight = 1U << 14;
inline constexpr std::uint64_t kDataSrc = 1U << 15;
inline constexpr std::uint64_t kIdentifier = 1U << 16;
inline constexpr std::uint64_t kTransaction = 1U << 17;
inline constexpr std::uint64_t kRegsIntr = 1U << 18;
inline constexpr std::uint64_t kPhysAddr = 1U << 19;
inline constexpr std::uint64_t kAux = 1U << 20;
inline constexpr std::uint64_t kCgroup = 1U << 21;
inline constexpr std::uint64_t kDataPageSize = 1U << 22;
inline constexpr std::uint64_t kCodePageSize = 1U << 23;
inline constexpr std::uint64_t kWeightStruct = 1U << 24;

// The fields behind RAW that rows of Kind::kDetailedSample have.
inline constexpr std::uint64_t kDetails = kBranchStack | kRegsUser | kWeight | kDataSrc | kTransaction | kRegsIntr |
                                          kPhysAddr | kCgroup | kDataPageSize | kCodePageSize | kWeightStruct;
}  // namespace sample_type

// Bits of perf_event_attr.read_format.
namespace read_format {
inline constexpr std::uint64_t kTimeEnabled = 1U << 0;
inline constexpr std::uint64_t kTimeRunning = 1U << 1;
inline constexpr std::uint64_t kId = 1U << 2;
inline constexpr std::uint64_t kGroup = 1U << 3;
inline constexpr std::uint64_t kLost = 1U << 4;
}  // namespace read_format

// Markers in a call chain: the frames after one belong to that context. Every value from kMax up is a marker.
namespace context {
inline constexpr std::uint64_t kHypervisor = static_cast<std::uint64_t>(-32);
inline constexpr std::uint64_t kKernel = static_cast<std::uint64_t>(-128);
inline constexpr std::uint64_t kUser = static_cast<std::uint64_t>(-512);
inline constexpr std::uint64_t kUserDeferred = static_cast<std::uint64_t>(-640);  // a cookie follows
inline constexpr std::uint64_t kMax = static_cast<std::uint64_t>(-4095);
}  // namespace context

// perf_event_attr.type
inline constexpr std::uint32_t kTypeHardware = 0;
inline constexpr std::uint32_t kTypeSoftware = 1;
inline constexpr std::uint64_t kConfigCpuClock = 0;  // of kTypeSoftware
inline constexpr std::uint64_t kConfigDummy = 9;     // of kTypeSoftware: never counts by itself
inline constexpr std::uint32_t kTypeTracepoint = 2;
inline constexpr std::uint32_t kTypeHwCache = 3;
inline constexpr std::uint32_t kTypeRaw = 4;
inline constexpr std::uint32_t kTypeBreakpoint = 5;

// Feature bits of a perf.data file's header.
enum class Feature : std::uint8_t {
    kTracingData = 1,
    kBuildId = 2,
    kHostname = 3,
    kOsRelease = 4,
    kVersion = 5,
    kArch = 6,
    kNrCpus = 7,
    kCpuDesc = 8,
    kCpuId = 9,
    kTotalMem = 10,
    kCmdline = 11,
    kEventDesc = 12,
    kCpuTopology = 13,
    kNumaTopology = 14,
    kBranchStack = 15,
    kPmuMappings = 16,
    kGroupDesc = 17,
    kAuxtrace = 18,
    kStat = 19,
    kCache = 20,
    kSampleTime = 21,
    kMemTopology = 22,
    kClockid = 23,
    kDirFormat = 24,
    kBpfProgInfo = 25,
    kBpfBtf = 26,
    kCompressed = 27,
    kCpuPmuCaps = 28,
    kClockData = 29,
};

}  // namespace perfleet::perf
