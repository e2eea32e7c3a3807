// Messages that clients push in JSON: OTLP's profiles (versions 1.10 and 1.11) and Pyroscope's PushRequest. Their
// readers take protobuf.
#pragma once

#include "query-engine/http/message_type.h"

namespace perfleet {

[[nodiscard]] const MessageType& otlp_request_type();    // ExportProfilesServiceRequest
[[nodiscard]] const MessageType& otlp_response_type();   // ExportProfilesServiceResponse
[[nodiscard]] const MessageType& rpc_status_type();      // google.rpc.Status
[[nodiscard]] const MessageType& pyroscope_push_type();  // push.v1.PushRequest

}  // namespace perfleet
