// Pyroscope's HTTP API: unary Connect calls of its querier, and the older /pyroscope/render and /pyroscope/render-diff.
//
// Threads: any.
#pragma once

#include <string>

#include "query-engine/http/http_service.h"

namespace perfleet::pyroscope {

// Connect: POST /querier.v1.QuerierService/METHOD with application/proto or application/json, packed by gzip or not.
// Errors are Connect's: a status, and {"code":…,"message":…}.
void answer_call(const HttpBackend& backend, const std::string& service_key, const HttpRequest& request,
                 HttpReply& reply);

// GET /pyroscope/render?query=TYPE{…}&from=…&until=…&max-nodes=…, and /pyroscope/render-diff with leftQuery, leftFrom,
// leftUntil, rightQuery, rightFrom, rightUntil.
void answer_render(const HttpBackend& backend, const std::string& service_key, const HttpRequest& request,
                   HttpReply& reply);

}  // namespace perfleet::pyroscope
