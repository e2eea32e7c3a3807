// Profiles that agents push, over and over: OpenTelemetry's protocol over HTTP, and Pyroscope's two ways.
//
//   POST /v1development/profiles               OTLP (ExportProfilesServiceRequest)
//   POST /push.v1.PusherService/Push           Pyroscope's PushRequest, by the Connect protocol
//   POST /ingest, /pyroscope/ingest            a profile of pprof, folded stacks or lines, also in a form
//
// Bodies are protobuf or JSON, maybe packed by gzip. An answer of success means that all is stored; repeated requests
// are stored once. Web pages can't push: requests with an Origin are refused. Threads: any.
#pragma once

#include <array>
#include <string_view>

#include "query-engine/http/http_service.h"

namespace perfleet {

inline constexpr std::array<std::string_view, 4> kPushPaths{"/v1development/profiles", "/push.v1.PusherService/Push",
                                                            "/ingest", "/pyroscope/ingest"};

// JSON takes up to sixteen times its size while it is read (message_type.h).
inline constexpr std::size_t kPushedJsonSizeBytesMax = 8U << 20;

void answer_push(const HttpBackend& backend, const HttpRequest& request, HttpReply& reply);

}  // namespace perfleet
