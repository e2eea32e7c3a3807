#include "query-engine/http/push/push_api.h"

#include <algorithm>
#include <utility>

#include "query-engine/http/http_server.h"
#include "query-engine/http/http_service.h"
#include "query-engine/http/push/multipart.h"
#include "query-engine/http/push/push_messages.h"
#include "schemas/gzip/gzip.h"

namespace perfleet {
namespace {

constexpr const char* kText = "text/plain; charset=utf-8";
constexpr const char* kJson = "application/json";
constexpr const char* kOtlpProtobuf = "application/x-protobuf";
constexpr const char* kConnectProtobuf = "application/proto";
constexpr const char* kOtlpVersionHeader = "otlp-profiles-development-version";

std::string_view media_type(const HttpRequest& request) {
    const std::string_view type = request.header("content-type");
    return type.substr(0, type.find_first_of("; "));
}

Result<std::string> unpacked_body(const HttpRequest& request) {
    const std::string_view encoding = request.header("content-encoding");
    if (encoding == "gzip") {
        return gunzip(request.body, HttpServer::kUploadSizeBytesMax);
    }
    if (encoding.empty() || encoding == "identity") {
        return std::string{request.body};
    }
    return Error{ErrorCode::kUnsupported,
                 "content encoding " + std::string{encoding.substr(0, 64)} + " isn't known: send gzip or identity"};
}

// The body as protobuf.
Result<std::string> protobuf_body(const HttpRequest& request, const MessageType& type) {
    auto body = PERFLEET_TRY(unpacked_body(request));
    if (media_type(request) != kJson) {
        return body;
    }
    if (body.size() > kPushedJsonSizeBytesMax) {
        return Error{ErrorCode::kTooLarge, "JSON of more than " + std::to_string(kPushedJsonSizeBytesMax >> 20U) +
                                               " MiB: send protobuf, or less at once"};
    }
    const Json message = PERFLEET_TRY(read_json(type, body));
    return write_protobuf(type, message);
}

// The status, and google.rpc.Code with its name in the Connect protocol.
struct PushStatus {
    int status = 500;
    std::int32_t code = 13;
    const char* name = "internal";
};

PushStatus status_of(ErrorCode code) {
    switch (code) {
        case ErrorCode::kInvalid:
        case ErrorCode::kCorrupt:
        case ErrorCode::kTruncated:
        case ErrorCode::kUsage: return {400, 3, "invalid_argument"};
        case ErrorCode::kTooLarge: return {413, 3, "invalid_argument"};
        case ErrorCode::kPermission: return {403, 7, "permission_denied"};
        case ErrorCode::kUnsupported: return {415, 12, "unimplemented"};
        case ErrorCode::kBusy:
        case ErrorCode::kFull:
        case ErrorCode::kUnavailable: return {503, 14, "unavailable"};
        default: return {};
    }
}

HttpResponse with_retry(HttpResponse answer) {
    if (answer.status == 503) {
        answer.headers.emplace_back("Retry-After", "2");
    }
    return answer;
}

// -- OTLP -------------------------------------------------------------------------------------------------------------

Result<Done> check_version(const HttpRequest& request) {
    const auto count =
        std::ranges::count(request.headers, kOtlpVersionHeader, [](const auto& one) { return one.first; });
    return count == 0 || (count == 1 && request.header(kOtlpVersionHeader) == "1")
               ? Result<Done>{Done{}}
               : Error{ErrorCode::kInvalid, "OTLP-Profiles-Development-Version: 1 is the version that is known here"};
}

Result<PushAnswer> push_otlp(const PushBackend& backend, const HttpRequest& request) {
    PERFLEET_TRY(check_version(request));
    PushedBody body{PushFormat::kOtlp, request.client, {}, {}};
    body.body = PERFLEET_TRY(protobuf_body(request, otlp_request_type()));
    return backend.push(std::move(body));
}

HttpResponse encoded(const HttpRequest& request, int status, const MessageType& type, const Json& message) {
    return media_type(request) == kJson ? HttpResponse{status, kJson, write_json(type, message)}
                                        : HttpResponse{status, kOtlpProtobuf, write_protobuf(type, message)};
}

HttpResponse answer_otlp(const PushBackend& backend, const HttpRequest& request) {
    const auto pushed = push_otlp(backend, request);
    if (!pushed.ok()) {
        const PushStatus status = status_of(pushed.error().code);
        return with_retry(encoded(request, status.status, rpc_status_type(),
                                  {{"code", status.code}, {"message", pushed.error().message}}));
    }
    Json message = Json::object();
    if (pushed->rejected_count > 0) {
        message["partialSuccess"] = {{"rejectedProfiles", static_cast<std::int64_t>(pushed->rejected_count)},
                                     {"errorMessage", pushed->rejected_why}};
    }
    return encoded(request, 200, otlp_response_type(), message);
}

// -- Pyroscope --------------------------------------------------------------------------------------------------------

Result<PushAnswer> push_pyroscope(const PushBackend& backend, const HttpRequest& request) {
    if (const std::string_view version = request.header("connect-protocol-version");
        !version.empty() && version != "1") {
        return Error{ErrorCode::kInvalid, "Connect-Protocol-Version isn't 1"};
    }
    PushedBody body{PushFormat::kPyroscopePush, request.client, {}, {}};
    body.body = PERFLEET_TRY(protobuf_body(request, pyroscope_push_type()));
    return backend.push(std::move(body));
}

HttpResponse connect_error(const Error& error) {
    const PushStatus status = status_of(error.code);
    const Json body{{"code", status.name}, {"message", error.message}};
    return with_retry({status.status, kJson, body.dump(-1, ' ', false, Json::error_handler_t::replace)});
}

HttpResponse answer_pyroscope(const PushBackend& backend, const HttpRequest& request) {
    const auto pushed = push_pyroscope(backend, request);
    if (!pushed.ok()) {
        return connect_error(pushed.error());
    }
    const bool is_json = media_type(request) == kJson;  // PushResponse has no fields
    return {200, is_json ? kJson : kConnectProtobuf, is_json ? "{}" : ""};
}

Result<PushAnswer> push_ingested(const PushBackend& backend, const HttpRequest& request) {
    PushedBody body{PushFormat::kPyroscopeIngest, request.client, request.parameters, {}};
    auto bytes = PERFLEET_TRY(unpacked_body(request));
    if (media_type(request) != "multipart/form-data") {
        body.body = std::move(bytes);
        return backend.push(std::move(body));
    }
    const auto parts = PERFLEET_TRY(read_form(request.header("content-type"), bytes));
    const auto profile = std::ranges::find(parts, "profile", &FormPart::name);
    if (profile == parts.end()) {
        return Error{ErrorCode::kInvalid, "the form has no part named profile"};
    }
    body.body = profile->body;
    if (request.parameter("format").empty()) {
        body.parameters.emplace_back("format", "pprof");
    }
    return backend.push(std::move(body));
}

HttpResponse answer_ingest(const PushBackend& backend, const HttpRequest& request) {
    const auto pushed = push_ingested(backend, request);
    if (!pushed.ok()) {
        HttpResponse answer = error_answer(pushed.error());
        answer.status = status_of(pushed.error().code).status;
        return with_retry(std::move(answer));
    }
    return {200, kText, ""};
}

// -- a single profile -------------------------------------------------------------------------------------------------

HttpResponse answer_import(const PushBackend& backend, const HttpRequest& request) {
    // No type that a web page may post without asking this server first, which is never allowed.
    const std::string_view type = request.header("content-type");
    if (type != "application/octet-stream" && type != kOtlpProtobuf) {
        return {415, kText, "a profile is application/octet-stream or application/x-protobuf\n"};
    }
    PostedProfile profile{request.body, {}, {}};
    for (const auto& [name, value] : request.parameters) {
        const std::size_t equals = value.find('=');
        if (name == "target" && profile.target.empty()) {
            profile.target = value;
        } else if (name == "label" && equals != 0 && equals != std::string::npos) {
            profile.labels.emplace_back(value.substr(0, equals), value.substr(equals + 1));
        } else {
            return error_answer({ErrorCode::kUsage,
                                 "parameter " + name.substr(0, 64) + ": give target=NAME once, and label=KEY=VALUE"});
        }
    }
    if (profile.target.empty()) {
        return error_answer({ErrorCode::kUsage, "target=NAME is missing: where the profile is from"});
    }
    const auto imported = backend.import(profile);
    return imported.ok() ? HttpResponse{200, kJson, *imported} : error_answer(imported.error());
}

}  // namespace

HttpResponse answer_push(const PushBackend& backend, const HttpRequest& request) {
    if (request.method != "POST") {
        return {405, kText, "profiles are posted here\n", {{"Allow", "POST"}}};
    }
    const bool is_otlp = request.path == kPushPaths[0];
    const bool is_import = request.path == kPushPaths[2];
    if (is_import) {
        return answer_import(backend, request);
    }
    // A browser sends the page's Origin, and this server has no pages that push.
    if (!request.header("origin").empty()) {
        return {403, kText, "web pages can't push profiles\n"};
    }
    if (!is_otlp && request.path != kPushPaths[1]) {
        return answer_ingest(backend, request);
    }
    const std::string_view type = media_type(request);
    const std::string_view protobuf = is_otlp ? kOtlpProtobuf : kConnectProtobuf;
    if (type != protobuf && type != kJson) {
        const std::string types = std::string{protobuf} + ", " + kJson;
        return {415, kText, "send " + types + "\n", {{"Accept-Post", types}}};
    }
    return is_otlp ? answer_otlp(backend, request) : answer_pyroscope(backend, request);
}

}  // namespace perfleet
