// perfleet over HTTP: dispatches each path to its handler.
//
//   GET /, …                              the page for browsers (page/)
//   GET /healthz, /readyz                 "ok"
//   GET /metrics                          counters of this server, for Prometheus
//   GET /api/v1/query/COMMAND?OPTION=…    a table, as `perfleet COMMAND --format json` prints it
//                                         with `Accept: application/x-ndjson` lines {"progress":[rows read, of all]},
//                                         then the table, or {"error":"…","status":n}
//   GET /api/v1/export?to=FORMAT&OPTION=… a file, as `perfleet export --to FORMAT` writes it
//   GET /api/v1/pprof?seconds=N&OPTION=…  the same to pprof, of the last N seconds: for `go tool pprof URL`
//   POST /api/v1/import?target=NAME&label=K=V   a profile of pprof, stored as `perfleet import` does
//   POST /v1development/profiles, /push.v1.PusherService/Push, /ingest   profiles that agents push (push/)
//   POST /querier.v1.QuerierService/…     Pyroscope's querier, for Grafana (pyroscope/)
//   GET /pyroscope/render, render-diff    the same in its older form
//   GET /buildid/…                        symbols, by debuginfod's protocol (debuginfod.h)
//
// HEAD as GET, without the body. Errors of /api: a status and {"error":"…"}. Threads: any.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "query-engine/http/http_access.h"
#include "query-engine/http/http_service.h"
#include "query-engine/http/page/page.h"

namespace perfleet {

struct HttpApiOptions {
    HttpBackend backend;
    std::string service_key = "comm";        // the key whose values are services (pyroscope/selector.h)
    std::function<std::string()> metrics{};  // Prometheus' text
    std::span<const PageFile> page{};        // empty: no page
    OneTimeLink* link = nullptr;             // null: none
    std::string debuginfod_upstream{};       // URL of a server that has other symbols; empty: none
    // Answers requests to kPushPaths; empty: there is nothing.
    std::function<HttpResponse(const HttpRequest&)> pushes{};
};

class HttpApi {
public:
    explicit HttpApi(HttpApiOptions options) : options_{std::move(options)} {}

    void answer(const HttpRequest& request, HttpReply& reply) const;
    // Answers requests that take no time; false: answer() must be called.
    [[nodiscard]] bool answer_at_once(const HttpRequest& request, HttpReply& reply) const;
    // What a request to this path needs.
    [[nodiscard]] HttpRole role_of(std::string_view path) const;

private:
    void answer_query(const HttpRequest& request, HttpReply& reply) const;
    void answer_export(const HttpRequest& request, HttpReply& reply) const;
    void answer_pprof(const HttpRequest& request, HttpReply& reply) const;

    HttpApiOptions options_;
};

}  // namespace perfleet
