// The field numbers of OpenTelemetry's profiles (opentelemetry.proto.profiles.v1development, and what it uses of common
// and resource), as of versions 1.10 and 1.11; those of 1.9 where they differ.
#pragma once

#include <protozero/types.hpp>

namespace perfleet::otlp {

// ExportProfilesServiceRequest; also ProfilesData, which has the same fields.
enum class Request : protozero::pbf_tag_type { kResourceProfiles = 1, kDictionary = 2 };

enum class Dictionary : protozero::pbf_tag_type {
    kMapping = 1,
    kLocation = 2,
    kFunction = 3,
    kLink = 4,
    kString = 5,
    kAttribute = 6,
    kStack = 7,
};

enum class ResourceProfiles : protozero::pbf_tag_type { kResource = 1, kScopeProfiles = 2 };

enum class Resource : protozero::pbf_tag_type { kAttributes = 1 };

enum class ScopeProfiles : protozero::pbf_tag_type { kScope = 1, kProfiles = 2 };

enum class Scope : protozero::pbf_tag_type { kName = 1, kVersion = 2 };

enum class Profile : protozero::pbf_tag_type {
    kSampleType = 1,
    kSamples = 2,
    kTime = 3,
    kDuration = 4,
    kPeriodType = 5,
    kPeriod = 6,
    kProfileId = 7,
    kDroppedAttributesCount = 8,  // in 1.8 kProfileId
};

enum class ValueType : protozero::pbf_tag_type { kType = 1, kUnit = 2, kTemporality = 3 };  // the last until 1.8

enum class Sample : protozero::pbf_tag_type { kStack = 1, kAttributes = 2, kLink = 3, kValues = 4, kTimestamps = 5 };
namespace before_1_10 {
inline constexpr auto kValues = Sample{2};
inline constexpr auto kAttributes = Sample{3};
inline constexpr auto kLink = Sample{4};
}  // namespace before_1_10

enum class Mapping : protozero::pbf_tag_type {
    kStart = 1,
    kLimit = 2,
    kFileOffset = 3,
    kFileName = 4,
    kAttributes = 5
};

enum class Stack : protozero::pbf_tag_type { kLocations = 1 };

enum class Location : protozero::pbf_tag_type { kMapping = 1, kAddress = 2, kLines = 3, kAttributes = 4 };

enum class Line : protozero::pbf_tag_type { kFunction = 1, kLine = 2, kColumn = 3 };

enum class Function : protozero::pbf_tag_type { kName = 1, kSystemName = 2, kFileName = 3, kFirstLine = 4 };

enum class Link : protozero::pbf_tag_type { kTraceId = 1, kSpanId = 2 };

enum class Attribute : protozero::pbf_tag_type { kKey = 1, kValue = 2, kUnit = 3 };

enum class KeyValue : protozero::pbf_tag_type { kKey = 1, kValue = 2, kKeyString = 3 };

enum class AnyValue : protozero::pbf_tag_type { kText = 1, kBool = 2, kInteger = 3, kDouble = 4, kString = 8 };

// ExportProfilesServiceResponse, its ExportProfilesPartialSuccess, and google.rpc.Status of errors.
enum class Response : protozero::pbf_tag_type { kPartialSuccess = 1 };

enum class PartialSuccess : protozero::pbf_tag_type { kRejectedProfiles = 1, kErrorMessage = 2 };

enum class Status : protozero::pbf_tag_type { kCode = 1, kMessage = 2 };

}  // namespace perfleet::otlp
