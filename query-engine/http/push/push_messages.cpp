#include "query-engine/http/push/push_messages.h"

namespace perfleet {
namespace {

using Type = FieldType;

MessageField field(std::uint32_t number, std::string name, Type type) { return {number, std::move(name), type}; }
MessageField index(std::uint32_t number, std::string name) { return {number, std::move(name), Type::kInt32}; }
MessageField list(std::uint32_t number, std::string name, Type type) { return {number, std::move(name), type, true}; }
MessageField field(std::uint32_t number, std::string name, const MessageType& message) {
    return {number, std::move(name), Type::kMessage, false, &message};
}
MessageField list(std::uint32_t number, std::string name, const MessageType& message) {
    return {number, std::move(name), Type::kMessage, true, &message};
}

// opentelemetry.proto.common.v1, resource.v1
const MessageType kAnyValue{{field(1, "string_value", Type::kString), field(2, "bool_value", Type::kBool),
                             field(3, "int_value", Type::kInt64), field(4, "double_value", Type::kDouble),
                             index(8, "string_value_strindex")}};
const MessageType kKeyValue{{field(1, "key", Type::kString), field(2, "value", kAnyValue), index(3, "key_strindex")}};
const MessageType kResource{{list(1, "attributes", kKeyValue)}};
const MessageType kScope{{field(1, "name", Type::kString), field(2, "version", Type::kString)}};

// opentelemetry.proto.profiles.v1development
const MessageType kMapping{{field(1, "memory_start", Type::kUint64), field(2, "memory_limit", Type::kUint64),
                            field(3, "file_offset", Type::kUint64), index(4, "filename_strindex"),
                            list(5, "attribute_indices", Type::kInt32)}};
const MessageType kLine{{index(1, "function_index"), field(2, "line", Type::kInt64), field(3, "column", Type::kInt64)}};
const MessageType kLocation{{index(1, "mapping_index"), field(2, "address", Type::kUint64), list(3, "lines", kLine),
                             list(4, "attribute_indices", Type::kInt32)}};
const MessageType kFunction{{index(1, "name_strindex"), index(2, "system_name_strindex"), index(3, "filename_strindex"),
                             field(4, "start_line", Type::kInt64)}};
const MessageType kLink{{field(1, "trace_id", Type::kHexBytes), field(2, "span_id", Type::kHexBytes)}};
const MessageType kAttribute{{index(1, "key_strindex"), field(2, "value", kAnyValue), index(3, "unit_strindex")}};
const MessageType kStack{{list(1, "location_indices", Type::kInt32)}};
const MessageType kDictionary{{list(1, "mapping_table", kMapping), list(2, "location_table", kLocation),
                               list(3, "function_table", kFunction), list(4, "link_table", kLink),
                               list(5, "string_table", Type::kString), list(6, "attribute_table", kAttribute),
                               list(7, "stack_table", kStack)}};
const MessageType kValueType{{index(1, "type_strindex"), index(2, "unit_strindex")}};
const MessageType kSample{{index(1, "stack_index"), list(2, "attribute_indices", Type::kInt32), index(3, "link_index"),
                           list(4, "values", Type::kInt64), list(5, "timestamps_unix_nano", Type::kFixed64)}};
const MessageType kProfile{{field(1, "sample_type", kValueType), list(2, "samples", kSample),
                            field(3, "time_unix_nano", Type::kFixed64), field(4, "duration_nano", Type::kUint64),
                            field(5, "period_type", kValueType), field(6, "period", Type::kInt64),
                            field(7, "profile_id", Type::kHexBytes), list(11, "attribute_indices", Type::kInt32)}};
const MessageType kScopeProfiles{{field(1, "scope", kScope), list(2, "profiles", kProfile)}};
const MessageType kResourceProfiles{{field(1, "resource", kResource), list(2, "scope_profiles", kScopeProfiles)}};
const MessageType kOtlpRequest{{list(1, "resource_profiles", kResourceProfiles), field(2, "dictionary", kDictionary)}};
const MessageType kPartialSuccess{
    {field(1, "rejected_profiles", Type::kInt64), field(2, "error_message", Type::kString)}};
const MessageType kOtlpResponse{{field(1, "partial_success", kPartialSuccess)}};
const MessageType kStatus{{field(1, "code", Type::kInt32), field(2, "message", Type::kString)}};

// push.v1
const MessageType kLabelPair{{field(1, "name", Type::kString), field(2, "value", Type::kString)}};
const MessageType kRawSample{{field(1, "raw_profile", Type::kBytes), field(2, "ID", Type::kString)}};
const MessageType kSeries{{list(1, "labels", kLabelPair), list(2, "samples", kRawSample)}};
const MessageType kPush{{list(1, "series", kSeries)}};

}  // namespace

const MessageType& otlp_request_type() { return kOtlpRequest; }
const MessageType& otlp_response_type() { return kOtlpResponse; }
const MessageType& rpc_status_type() { return kStatus; }
const MessageType& pyroscope_push_type() { return kPush; }

}  // namespace perfleet
