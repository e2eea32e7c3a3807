#include "schemas/columns/layout.h"

#include <array>

#include "schemas/vocabulary/batch_limits.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kU32 = 0xffff'ffffULL;

constexpr ColumnRule integer(ColumnId id, std::uint64_t max = ~0ULL) { return {id, ColumnShape::kInteger, {}, max}; }
constexpr ColumnRule bytes(ColumnId id, ColumnId sizes) { return {id, ColumnShape::kBytes, sizes, 0}; }

constexpr ColumnRule kTime = integer(ColumnId::kTime);
constexpr ColumnRule kCpu = integer(ColumnId::kCpu, kU32);
constexpr ColumnRule kPid = integer(ColumnId::kPid, kU32);
constexpr ColumnRule kTid = integer(ColumnId::kTid, kU32);
constexpr ColumnRule kStack = integer(ColumnId::kStack, limits::kStackNodesMax);
constexpr ColumnRule kWeight = integer(ColumnId::kWeight);
constexpr ColumnRule kValue = integer(ColumnId::kValue);
constexpr ColumnRule kImage = integer(ColumnId::kImage, limits::kImagesMax - 1);

constexpr std::array kSampleColumns{kTime, kCpu, kPid, kTid, kStack, kWeight};
constexpr std::array kTracepointColumns{kTime,
                                        kCpu,
                                        kPid,
                                        kTid,
                                        kStack,
                                        kWeight,
                                        kValue,
                                        integer(ColumnId::kRawSize, limits::kRawBytesMax),
                                        bytes(ColumnId::kRawBytes, ColumnId::kRawSize)};
constexpr std::array kKernelEntryColumns{kTime, kCpu, integer(ColumnId::kDuration), integer(ColumnId::kEntryPath, 255),
                                         integer(ColumnId::kEntryDetail)};
constexpr std::array kUtilisationColumns{kTime,
                                         kCpu,
                                         integer(ColumnId::kWindowStart),
                                         integer(ColumnId::kThread),
                                         integer(ColumnId::kCycles),
                                         integer(ColumnId::kSchedules),
                                         integer(ColumnId::kKernelCycles),
                                         integer(ColumnId::kKernelEntries)};
constexpr std::array kLatencyColumns{kTime, integer(ColumnId::kTestSize), integer(ColumnId::kGroup, kU32),
                                     integer(ColumnId::kTest, kU32), kValue};
constexpr std::array kCounterColumns{
    kTime, kCpu, kPid, kTid, kValue, integer(ColumnId::kTimeEnabled), integer(ColumnId::kTimeRunning)};
constexpr std::array kTaskColumns{kTime,
                                  kCpu,
                                  integer(ColumnId::kTaskOp, kTaskOpLast),
                                  kPid,
                                  kTid,
                                  integer(ColumnId::kParentPid, kU32),
                                  integer(ColumnId::kParentTid, kU32),
                                  integer(ColumnId::kString, limits::kStringsMax),
                                  kImage,
                                  integer(ColumnId::kAddress),
                                  integer(ColumnId::kSize),
                                  integer(ColumnId::kFileOffset),
                                  integer(ColumnId::kProtection),
                                  kValue};
constexpr std::array kControlColumns{kTime, integer(ColumnId::kCommand, 0xffff), integer(ColumnId::kEvent, 0xffff),
                                     kValue};
constexpr std::array kRecordColumns{kTime,
                                    kCpu,
                                    kPid,
                                    kTid,
                                    integer(ColumnId::kRecordType, (std::uint64_t{1} << 48) - 1),
                                    integer(ColumnId::kRawSize, limits::kRawBytesMax),
                                    bytes(ColumnId::kRawBytes, ColumnId::kRawSize)};
constexpr std::array kStackColumns{integer(ColumnId::kNumber, limits::kStackNodesMax),
                                   integer(ColumnId::kParent, limits::kStackNodesMax), kImage,
                                   integer(ColumnId::kFrameOffset)};
constexpr std::array kImageColumns{integer(ColumnId::kNumber, limits::kImagesMax - 1),
                                   integer(ColumnId::kImageFlags, image_flags::kAll),
                                   integer(ColumnId::kAddress),
                                   integer(ColumnId::kSize),
                                   integer(ColumnId::kBuildIdSize, limits::kBuildIdSizeBytesMax),
                                   bytes(ColumnId::kBuildIdBytes, ColumnId::kBuildIdSize),
                                   integer(ColumnId::kNameSize, limits::kStringSizeBytesMax),
                                   bytes(ColumnId::kNameBytes, ColumnId::kNameSize)};
constexpr std::array kStringColumns{integer(ColumnId::kNumber, limits::kStringsMax),
                                    integer(ColumnId::kNameSize, limits::kStringSizeBytesMax),
                                    bytes(ColumnId::kNameBytes, ColumnId::kNameSize)};

static_assert(kTaskColumns.size() <= limits::kColumnsMax);

}  // namespace

std::span<const ColumnRule> columns_of(Kind kind) {
    switch (kind) {
        case Kind::kSample: return kSampleColumns;
        case Kind::kTracepoint: return kTracepointColumns;
        case Kind::kKernelEntry: return kKernelEntryColumns;
        case Kind::kUtilisation: return kUtilisationColumns;
        case Kind::kLatency: return kLatencyColumns;
        case Kind::kCounter: return kCounterColumns;
        case Kind::kTask: return kTaskColumns;
        case Kind::kStack: return kStackColumns;
        case Kind::kImage: return kImageColumns;
        case Kind::kString: return kStringColumns;
        case Kind::kControl: return kControlColumns;
        case Kind::kRecord: return kRecordColumns;
    }
    return {};
}

std::string_view column_name(ColumnId id) {
    switch (id) {
        case ColumnId::kTime: return "time";
        case ColumnId::kCpu: return "cpu";
        case ColumnId::kPid: return "pid";
        case ColumnId::kTid: return "tid";
        case ColumnId::kStack: return "stack";
        case ColumnId::kWeight: return "weight";
        case ColumnId::kValue: return "value";
        case ColumnId::kRawSize: return "raw_size";
        case ColumnId::kRawBytes: return "raw_bytes";
        case ColumnId::kTimeEnabled: return "time_enabled";
        case ColumnId::kTimeRunning: return "time_running";
        case ColumnId::kTaskOp: return "task_op";
        case ColumnId::kParentPid: return "parent_pid";
        case ColumnId::kParentTid: return "parent_tid";
        case ColumnId::kString: return "string";
        case ColumnId::kImage: return "image";
        case ColumnId::kAddress: return "address";
        case ColumnId::kSize: return "size";
        case ColumnId::kFileOffset: return "file_offset";
        case ColumnId::kProtection: return "protection";
        case ColumnId::kNumber: return "number";
        case ColumnId::kParent: return "parent";
        case ColumnId::kFrameOffset: return "frame_offset";
        case ColumnId::kImageFlags: return "image_flags";
        case ColumnId::kBuildIdSize: return "build_id_size";
        case ColumnId::kBuildIdBytes: return "build_id_bytes";
        case ColumnId::kNameSize: return "name_size";
        case ColumnId::kNameBytes: return "name_bytes";
        case ColumnId::kDuration: return "duration";
        case ColumnId::kEntryPath: return "entry_path";
        case ColumnId::kEntryDetail: return "entry_detail";
        case ColumnId::kWindowStart: return "window_start";
        case ColumnId::kThread: return "thread";
        case ColumnId::kCycles: return "cycles";
        case ColumnId::kSchedules: return "schedules";
        case ColumnId::kKernelCycles: return "kernel_cycles";
        case ColumnId::kKernelEntries: return "kernel_entries";
        case ColumnId::kTestSize: return "test_size";
        case ColumnId::kGroup: return "group";
        case ColumnId::kTest: return "test";
        case ColumnId::kCommand: return "command";
        case ColumnId::kEvent: return "event";
        case ColumnId::kRecordType: return "record_type";
    }
    return "unknown";
}

}  // namespace perfleet
