// The field numbers of pprof's profile.proto (package perftools.profiles).
#pragma once

#include <protozero/types.hpp>

namespace perfleet::pprof {

enum class Profile : protozero::pbf_tag_type {
    kSampleType = 1,
    kSample = 2,
    kMapping = 3,
    kLocation = 4,
    kFunction = 5,
    kStringTable = 6,
    kDropFrames = 7,
    kKeepFrames = 8,
    kTimeNanos = 9,
    kDurationNanos = 10,
    kPeriodType = 11,
    kPeriod = 12,
    kComment = 13,
    kDefaultSampleType = 14,
    kDocUrl = 15,
};

enum class ValueType : protozero::pbf_tag_type { kType = 1, kUnit = 2 };

enum class Sample : protozero::pbf_tag_type { kLocationId = 1, kValue = 2, kLabel = 3 };

enum class Label : protozero::pbf_tag_type { kKey = 1, kStr = 2, kNum = 3, kNumUnit = 4 };

enum class Mapping : protozero::pbf_tag_type {
    kId = 1,
    kMemoryStart = 2,
    kMemoryLimit = 3,
    kFileOffset = 4,
    kFilename = 5,
    kBuildId = 6,
    kHasFunctions = 7,
    kHasFilenames = 8,
    kHasLineNumbers = 9,
    kHasInlineFrames = 10,
};

enum class Location : protozero::pbf_tag_type { kId = 1, kMappingId = 2, kAddress = 3, kLine = 4, kIsFolded = 5 };

enum class Line : protozero::pbf_tag_type { kFunctionId = 1, kLine = 2, kColumn = 3 };

enum class Function : protozero::pbf_tag_type { kId = 1, kName = 2, kSystemName = 3, kFilename = 4, kStartLine = 5 };

}  // namespace perfleet::pprof
