// The field numbers of Perfetto's trace (package perfetto.protos) that are written here.
#pragma once

#include <protozero/types.hpp>

namespace perfleet::perfetto {

using protozero::pbf_tag_type;

enum class Trace : pbf_tag_type { kPacket = 1 };

enum class Packet : pbf_tag_type {
    kFtraceEvents = 1,
    kProcessTree = 2,
    kClockSnapshot = 6,
    kTimestamp = 8,
    kSequence = 10,  // packets of one sequence share interned names
    kTrackEvent = 11,
    kInternedData = 12,
    kSequenceFlags = 13,
    kDefaults = 59,
    kTrackDescriptor = 60,
    kPerfSample = 66,
};
inline constexpr std::uint32_t kBeginsSequence = 1;
inline constexpr std::uint32_t kNeedsSequence = 2;

enum class ClockSnapshot : pbf_tag_type { kClock = 1 };
enum class Clock : pbf_tag_type { kId = 1, kTimestamp = 2 };
inline constexpr std::uint32_t kRealtime = 1;
inline constexpr std::uint32_t kBoottime = 6;  // default of packets

enum class ProcessTree : pbf_tag_type { kProcess = 1, kThread = 2 };
enum class Process : pbf_tag_type { kPid = 1, kCommandLine = 3, kIsCommand = 9 };
enum class Thread : pbf_tag_type { kTid = 1, kName = 2, kPid = 3 };

enum class FtraceBundle : pbf_tag_type { kCpu = 1, kEvent = 2 };
enum class FtraceEvent : pbf_tag_type { kTimestamp = 1, kTid = 2, kSchedSwitch = 4 };
enum class SchedSwitch : pbf_tag_type {
    kPreviousCommand = 1,
    kPreviousTid = 2,
    kPreviousPriority = 3,
    kPreviousState = 4,
    kNextCommand = 5,
    kNextTid = 6,
    kNextPriority = 7,
};

enum class TrackDescriptor : pbf_tag_type { kUuid = 1, kName = 2, kThread = 4, kCounter = 8 };
enum class CounterDescriptor : pbf_tag_type { kUnitName = 6 };
enum class ThreadDescriptor : pbf_tag_type { kPid = 1, kTid = 2 };
enum class TrackEvent : pbf_tag_type {
    kAnnotation = 4,
    kType = 9,
    kTrack = 11,
    kCategory = 22,
    kName = 23,
    kCounterValue = 30,
};
inline constexpr std::int32_t kInstant = 3;
inline constexpr std::int32_t kCounter = 4;
enum class Annotation : pbf_tag_type { kUnsigned = 3, kString = 6, kName = 10 };

enum class Defaults : pbf_tag_type { kPerfSample = 12 };
enum class PerfSampleDefaults : pbf_tag_type { kTimebase = 1 };
enum class Timebase : pbf_tag_type { kName = 10 };
enum class PerfSample : pbf_tag_type { kCpu = 1, kPid = 2, kTid = 3, kCallstack = 4, kMode = 5, kCount = 6 };
inline constexpr std::int32_t kModeKernel = 1;
inline constexpr std::int32_t kModeUser = 2;

enum class Interned : pbf_tag_type {
    kFunctionName = 5,
    kFrame = 6,
    kCallstack = 7,
    kMappingPath = 17,
    kMapping = 19,
};
enum class Name : pbf_tag_type { kNumber = 1, kText = 2 };
enum class Mapping : pbf_tag_type { kNumber = 1, kPath = 7 };
enum class Frame : pbf_tag_type { kNumber = 1, kFunctionName = 2, kMapping = 3 };
enum class Callstack : pbf_tag_type { kNumber = 1, kFrames = 2 };

}  // namespace perfleet::perfetto
