#include "query-engine/http/pyroscope/pyroscope_api.h"

#include <algorithm>
#include <cmath>

#include "query-engine/http/http_server.h"
#include "query-engine/http/pyroscope/messages.h"
#include "query-engine/http/pyroscope/querier.h"
#include "query-engine/select/selection.h"
#include "schemas/gzip/gzip.h"
#include "schemas/host/host_clock.h"
#include "schemas/text/parse.h"

namespace perfleet::pyroscope {
namespace {

constexpr const char* kProto = "application/proto";
constexpr const char* kJson = "application/json";
constexpr std::int64_t kTimelinePoints = 100;

struct CallError {
    int status = 500;
    std::string code;
    std::string message;
};

CallError call_error(const Error& error) {
    switch (error.code) {
        case ErrorCode::kInvalid:
        case ErrorCode::kTruncated:
        case ErrorCode::kUsage: return {400, "invalid_argument", error.message};
        case ErrorCode::kPermission: return {403, "permission_denied", error.message};
        case ErrorCode::kNotFound: return {404, "not_found", error.message};
        case ErrorCode::kTooLarge:
        case ErrorCode::kFull: return {429, "resource_exhausted", error.message};
        case ErrorCode::kCancelled: return {499, "canceled", error.message};
        case ErrorCode::kUnsupported: return {501, "unimplemented", error.message};
        case ErrorCode::kBusy:
        case ErrorCode::kUnavailable: return {503, "unavailable", error.message};
        case ErrorCode::kCorrupt: return {500, "data_loss", error.message};
        default: return {500, "internal", error.message};
    }
}

HttpResponse error_body(const CallError& error) {
    const Json body{{"code", error.code}, {"message", error.message}};
    return {error.status, kJson, body.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

// The answer's body and type.
Result<HttpResponse> answer_to(const HttpBackend& backend, const std::string& service_key, const HttpRequest& request,
                               const std::string& method, bool is_json, const std::atomic<bool>& cancelled) {
    const Call* const call = find_call(method);
    if (call == nullptr) {
        return Error{ErrorCode::kUnsupported, method.substr(0, 64) + " isn't served here"};
    }
    std::string unpacked;
    std::string_view body = request.body;
    if (const std::string_view encoding = request.header("content-encoding"); encoding == "gzip") {
        unpacked = PERFLEET_TRY(gunzip(body, HttpServer::kBodySizeBytesMax));
        body = unpacked;
    } else if (!encoding.empty() && encoding != "identity") {
        return Error{ErrorCode::kUnsupported,
                     "content encoding " + std::string{encoding.substr(0, 64)} + " isn't known: send gzip or identity"};
    }
    const Json message = PERFLEET_TRY(is_json ? read_json(call->request, body) : read_protobuf(call->request, body));
    const Querier querier{backend, service_key, cancelled};
    if (method == "SelectMergeProfile" && !is_json) {
        auto profile = PERFLEET_TRY(querier.pprof(message));
        return HttpResponse{200, kProto, std::move(profile)};
    }
    const Json response = PERFLEET_TRY(querier.call(method, message));
    return is_json ? HttpResponse{200, kJson, write_json(call->response, response)}
                   : HttpResponse{200, kProto, write_protobuf(call->response, response)};
}

// Seconds, milliseconds, microseconds or nanoseconds since 1970, by the number of digits; or `now`, `now-1h`.
Result<std::int64_t> time_ms(std::string_view text, std::string_view name) {
    if (const auto number = number_of<std::int64_t>(std::string{text})) {
        std::int64_t ms = *number;
        if (text.size() <= 10) {
            return ms * 1'000;
        }
        for (std::size_t digits = text.size(); digits > 13; digits -= 3) {
            ms /= 1'000;
        }
        return ms;
    }
    const bool is_offset = text.starts_with("now-");
    const auto time = parse_time(is_offset ? text.substr(3) : text, utc_now());
    return time.ok() ? Result<std::int64_t>{time->value / kNsPerMs}
                     : Error{ErrorCode::kInvalid, std::string{name} + ": " + time.error().message};
}

// The request of SelectMergeStacktraces that these parameters make.
Result<Json> render_request(const HttpRequest& request, const std::string& query, const std::string& from,
                            const std::string& until) {
    const std::string_view text = request.parameter(query);
    const std::size_t brace = std::min(text.find('{'), text.size());
    std::string_view nodes = request.parameter("max-nodes");
    nodes = nodes.empty() ? request.parameter("maxNodes") : nodes;
    // Not within the braces: what was made there would leak if PERFLEET_TRY returned.
    const std::int64_t start_ms = PERFLEET_TRY(time_ms(request.parameter(from), from));
    const std::int64_t end_ms = PERFLEET_TRY(time_ms(request.parameter(until), until));
    Json wanted{{"profileTypeID", std::string{text.substr(0, brace)}},
                {"labelSelector", std::string{text.substr(brace)}},
                {"start", start_ms},
                {"end", end_ms}};
    if (!nodes.empty()) {
        const auto count = number_of<std::int64_t>(std::string{nodes});
        if (!count) {
            return Error{ErrorCode::kInvalid, "max-nodes: " + std::string{nodes.substr(0, 64)} + " isn't a number"};
        }
        wanted["maxNodes"] = *count;
    }
    return wanted;
}

Json metadata_of(const std::string& type, const char* format) {
    const std::vector<std::string> parts = split_list(type, ':');
    const std::string unit = parts.size() > 2 ? parts[2] : "";
    constexpr std::int64_t kNsPerS = 1'000'000'000;
    return {{"format", format},
            {"spyName", "perfleet"},
            {"units", unit == "nanoseconds" ? "samples"
                      : unit == "bytes"     ? "bytes"
                                            : "objects"},
            {"name", parts.size() > 1 ? parts[1] : ""},
            {"sampleRate", unit == "nanoseconds" ? kNsPerS : 1}};
}

Json flamebearer_of(const Json& graph) {
    Json levels = Json::array();
    for (const Json& level : graph["levels"]) {
        levels.push_back(level["values"]);
    }
    return {{"names", graph["names"]},
            {"levels", std::move(levels)},
            {"numTicks", graph["total"]},
            {"maxSelf", graph["maxSelf"]}};
}

Result<Json> timeline_of(const Querier& querier, Json wanted) {
    const std::int64_t start_ms = wanted["start"];
    const std::int64_t end_ms = wanted["end"];
    const std::int64_t step_s = std::max<std::int64_t>((end_ms - start_ms) / kTimelinePoints / 1'000, 1);
    wanted["step"] = static_cast<double>(step_s);
    wanted["end"] = end_ms + step_s * 1'000;  // a point stands for the step before it
    const auto series = PERFLEET_TRY(querier.call("SelectSeries", wanted));
    std::vector<double> samples(static_cast<std::size_t>((end_ms - start_ms) / 1'000 / step_s) + 1);
    for (const Json& one : series["series"]) {
        for (const Json& point : one["points"]) {
            const std::int64_t at = (point["timestamp"].get<std::int64_t>() - start_ms) / 1'000 / step_s;
            samples[static_cast<std::size_t>(std::clamp<std::int64_t>(at, 0, std::ssize(samples) - 1))] +=
                point["value"].get<double>();
        }
    }
    return Json{{"startTime", start_ms / 1'000}, {"samples", samples}, {"durationDelta", step_s}};
}

HttpResponse json_answer(const Json& body) {
    return {200, kJson, body.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

Result<HttpResponse> render(const HttpRequest& request, const Querier& querier) {
    const bool is_diff = request.path.ends_with("-diff");
    const std::string_view format = request.parameter("format");
    if (!format.empty() && format != "json" && (is_diff || format != "dot")) {
        return Error{ErrorCode::kUnsupported, "format " + std::string{format.substr(0, 64)} +
                                                  " isn't served here: take json" + (is_diff ? "" : " or dot")};
    }
    if (is_diff) {
        const auto left = PERFLEET_TRY(render_request(request, "leftQuery", "leftFrom", "leftUntil"));
        const auto right = PERFLEET_TRY(render_request(request, "rightQuery", "rightFrom", "rightUntil"));
        const auto diff = PERFLEET_TRY(querier.call("Diff", {{"left", left}, {"right", right}}));
        const Json& graph = diff["flamegraph"];
        return json_answer({{"version", 1},
                            {"flamebearer", flamebearer_of(graph)},
                            {"metadata", metadata_of(left["profileTypeID"], "double")},
                            {"leftTicks", graph["leftTicks"]},
                            {"rightTicks", graph["rightTicks"]}});
    }
    auto wanted = PERFLEET_TRY(render_request(request, "query", "from", "until"));
    if (format == "dot") {
        wanted["format"] = kDot;
        auto profile = PERFLEET_TRY(querier.call("SelectMergeStacktraces", wanted));
        return HttpResponse{200, "text/plain; charset=utf-8", std::move(profile["dot"].get_ref<std::string&>())};
    }
    const auto profile = PERFLEET_TRY(querier.call("SelectMergeStacktraces", wanted));
    const auto timeline = PERFLEET_TRY(timeline_of(querier, wanted));
    return json_answer({{"version", 1},
                        {"flamebearer", flamebearer_of(profile["flamegraph"])},
                        {"metadata", metadata_of(wanted["profileTypeID"], "single")},
                        {"timeline", timeline}});
}

}  // namespace

void answer_call(const HttpBackend& backend, const std::string& service_key, const HttpRequest& request,
                 HttpReply& reply) {
    const std::string_view type = request.header("content-type");
    const std::string_view media = type.substr(0, type.find_first_of("; "));
    if (request.method != "POST") {
        return reply.send({405, "text/plain", "calls are POST requests\n", {{"Allow", "POST"}}});
    }
    if (media != kProto && media != kJson) {
        return reply.send({415,
                           "text/plain",
                           "calls are application/proto or application/json\n",
                           {{"Accept-Post", "application/proto, application/json"}}});
    }
    if (const std::string_view version = request.header("connect-protocol-version");
        !version.empty() && version != "1") {
        return reply.send(error_body({400, "invalid_argument", "Connect-Protocol-Version isn't 1"}));
    }
    const std::string method = request.path.substr(request.path.rfind('/') + 1);
    auto answer = answer_to(backend, service_key, request, method, media == kJson, reply.cancelled());
    send(request, reply, answer.ok() ? std::move(*answer) : error_body(call_error(answer.error())));
}

void answer_render(const HttpBackend& backend, const std::string& service_key, const HttpRequest& request,
                   HttpReply& reply) {
    const Querier querier{backend, service_key, reply.cancelled()};
    auto rendered = render(request, querier);
    send(request, reply, rendered.ok() ? std::move(*rendered) : error_body(call_error(rendered.error())));
}

}  // namespace perfleet::pyroscope
