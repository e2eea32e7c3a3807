// debuginfod's protocol (debuginfod(8)): debuggers and profilers fetch, by build-id, the parts of files that collectors
// sent.
//
//   GET /buildid/HEX/debuginfo       a separate debug file: names, lines and inlined functions; no code, no variables
//   GET /buildid/HEX/section/NAME    the raw bytes of one of its sections
//
// Requests for other files, also for `executable` and `source/PATH`, get 404 or a redirect to another server.
#pragma once

#include <string>

#include "query-engine/http/http_service.h"

namespace perfleet {

inline constexpr std::string_view kDebuginfodPath = "/buildid/";

// `upstream` is the URL of the other server; empty: none.
void answer_debuginfod(const HttpBackend& backend, const std::string& upstream, const HttpRequest& request,
                       HttpReply& reply);

}  // namespace perfleet
