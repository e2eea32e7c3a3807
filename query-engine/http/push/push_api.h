// Profiles that clients post: one by one, and those that agents push, over and over, by OpenTelemetry's protocol over
// HTTP and Pyroscope's two ways.
//
//   POST /v1development/profiles               OTLP (ExportProfilesServiceRequest)
//   POST /push.v1.PusherService/Push           Pyroscope's PushRequest, by the Connect protocol
//   POST /ingest, /pyroscope/ingest            a profile of pprof, folded stacks or lines, also in a form
//   POST /api/v1/import?target=NAME&label=K=V  a profile of pprof, stored as `perfleet import` does
//
// Bodies are protobuf or JSON, maybe packed by gzip. An answer of success means that all is stored; repeated requests
// are stored once. Web pages can't push: requests with an Origin are refused. Threads: any.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "query-engine/http/http_message.h"
#include "schemas/session/pushed_body.h"

namespace perfleet {

inline constexpr std::array<std::string_view, 5> kPushPaths{"/v1development/profiles", "/push.v1.PusherService/Push",
                                                            "/api/v1/import", "/ingest", "/pyroscope/ingest"};

// JSON takes up to sixteen times its size while it is read (message_type.h).
inline constexpr std::size_t kPushedJsonSizeBytesMax = 8U << 20;

// A profile that a client posts. All of it is untrusted.
struct PostedProfile {
    std::string_view bytes;  // pprof, maybe packed by gzip
    std::string target;
    std::vector<std::pair<std::string, std::string>> labels;
};

struct PushAnswer {
    std::uint64_t rejected_count = 0;  // of profiles
    std::string rejected_why;
};

// Functions that the program passes. When one returns, all of the profile is acknowledged.
struct PushBackend {
    std::function<Result<std::string>(const PostedProfile&)> import;  // its answer is JSON
    std::function<Result<PushAnswer>(PushedBody)> push;
};

[[nodiscard]] HttpResponse answer_push(const PushBackend& backend, const HttpRequest& request);

}  // namespace perfleet
