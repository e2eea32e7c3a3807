#include "query-engine/http/api/http_api.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "query-engine/http/api/debuginfod.h"
#include "query-engine/http/push/push_api.h"
#include "query-engine/http/pyroscope/pyroscope_api.h"
#include "query-engine/select/selection_options.h"
#include "query-engine/statistic/command.h"
#include "schemas/text/parse.h"

namespace perfleet {
namespace {

constexpr std::string_view kQuery = "/api/v1/query/";
constexpr std::string_view kExport = "/api/v1/export";
constexpr std::string_view kPprof = "/api/v1/pprof";
constexpr std::string_view kTo = "to";
constexpr std::string_view kSeconds = "seconds";
constexpr std::uint64_t kSecondsMax = 366ULL * 86'400;

HttpResponse text_answer(int status, const std::string& text) {
    return {status, "text/plain; charset=utf-8", text + "\n"};
}

Result<OptionValues> export_values(const HttpRequest& request, const ExportFormat& format) {
    std::vector<OptionSpec> options{selection_options().begin(), selection_options().end()};
    options.insert(options.end(), format.options.begin(), format.options.end());
    constexpr std::array kOwn{kTo, kSeconds};
    return option_values(request, options, kOwn);
}

bool is_push_path(std::string_view path) { return std::ranges::find(kPushPaths, path) != kPushPaths.end(); }
bool is_probe(std::string_view path) { return path == "/healthz" || path == "/readyz"; }

}  // namespace

HttpRole HttpApi::role_of(std::string_view path) const {
    const bool is_push = options_.pushes && is_push_path(path);
    const bool is_open = is_probe(path) || path == kOpenPath || find_page_file(options_.page, path) != nullptr;
    return is_open ? HttpRole::kNone : is_push ? HttpRole::kPush : HttpRole::kRead;
}

bool HttpApi::answer_at_once(const HttpRequest& request, HttpReply& reply) const {
    const bool is_page = find_page_file(options_.page, request.path) != nullptr;
    if (!is_page && !is_probe(request.path) && request.path != "/metrics") {
        return false;
    }
    answer(request, reply);
    return true;
}

void HttpApi::answer(const HttpRequest& request, HttpReply& reply) const {
    const std::string& path = request.path;
    if (path.starts_with("/querier.v1.QuerierService/") || path.starts_with("/capabilities.v1.FeatureFlagsService/")) {
        return pyroscope::answer_call(options_.backend, options_.service_key, request, reply);
    }
    if (options_.pushes && is_push_path(path)) {
        return send(request, reply, options_.pushes(request));
    }
    const PageFile* const file = find_page_file(options_.page, path);
    const bool is_link = path == kOpenPath && options_.link != nullptr;
    const bool is_known = file != nullptr || is_link || is_probe(path) || path == "/metrics" || path == kExport ||
                          path == kPprof || path.starts_with(kQuery) || path.starts_with(kDebuginfodPath) ||
                          path == "/pyroscope/render" || path == "/pyroscope/render-diff";
    if (!is_known) {
        return reply.send(text_answer(404, "there is nothing at " + path.substr(0, 256)));
    }
    if (request.method != "GET" && request.method != "HEAD") {
        HttpResponse refused = text_answer(405, "only GET and HEAD are answered here");
        refused.headers.emplace_back("Allow", "GET, HEAD");
        return reply.send(std::move(refused));
    }
    if (file != nullptr) {
        answer_page_file(*file, request, reply);
    } else if (is_link) {
        options_.link->answer(request, reply);
    } else if (path.starts_with(kQuery)) {
        answer_query(request, reply);
    } else if (path == kExport) {
        answer_export(request, reply);
    } else if (path == kPprof) {
        answer_pprof(request, reply);
    } else if (path.starts_with(kDebuginfodPath)) {
        answer_debuginfod(options_.backend, options_.debuginfod_upstream, request, reply);
    } else if (path == "/metrics") {
        send(request, reply, {200, "text/plain; version=0.0.4; charset=utf-8", options_.metrics()});
    } else if (path.starts_with("/pyroscope/")) {
        pyroscope::answer_render(options_.backend, options_.service_key, request, reply);
    } else {
        reply.send(text_answer(200, "ok"));
    }
}

void HttpApi::answer_query(const HttpRequest& request, HttpReply& reply) const {
    const auto command = find_query_command(std::string_view{request.path}.substr(kQuery.size()));
    if (!command.ok()) {
        HttpResponse unknown = error_answer(command.error());
        unknown.status = 404;
        return reply.send(std::move(unknown));
    }
    std::vector<OptionSpec> options = (*command)->selection();
    options.insert(options.end(), (*command)->options.begin(), (*command)->options.end());
    ProgressLines progress{request, reply};
    const auto answer = [&]() -> Result<std::string> {
        auto values = PERFLEET_TRY(option_values(request, options));
        return options_.backend.json_report(PERFLEET_TRY(
            ask_table(options_.backend, (*command)->name, std::move(values), reply.cancelled(), progress.report())));
    }();
    const HttpResponse response =
        answer.ok() ? HttpResponse{200, "application/json", *answer} : error_answer(answer.error());
    if (progress.has_begun()) {
        return progress.send(response);
    }
    send(request, reply, response);
}

void HttpApi::answer_export(const HttpRequest& request, HttpReply& reply) const {
    const std::string_view to = request.parameter(kTo);
    const auto format = std::ranges::find(options_.backend.formats, to, &ExportFormat::name);
    if (format == options_.backend.formats.end()) {
        std::string names;
        for (const ExportFormat& known : options_.backend.formats) {
            names += (names.empty() ? "" : ", ") + known.name;
        }
        return reply.send(
            error_answer({ErrorCode::kUsage, "to: \"" + std::string{to.substr(0, 64)} + "\" is none of " + names}));
    }
    auto values = export_values(request, *format);
    if (!values.ok()) {
        return reply.send(error_answer(values.error()));
    }
    stream_export(options_.backend, *format, std::move(*values), request, reply);
}

void HttpApi::answer_pprof(const HttpRequest& request, HttpReply& reply) const {
    const auto format = std::ranges::find(options_.backend.formats, "pprof", &ExportFormat::name);
    auto values = export_values(request, *format);
    if (!values.ok()) {
        return reply.send(error_answer(values.error()));
    }
    if (const std::string seconds{request.parameter(kSeconds)}; !seconds.empty()) {
        const auto count = number_of<std::uint64_t>(seconds);
        if (!count || *count == 0 || *count > kSecondsMax || values->contains("from")) {
            return reply.send(error_answer(
                {ErrorCode::kUsage, "seconds: \"" + seconds.substr(0, 64) +
                                        "\" isn't a number of seconds before now, or is given beside from"}));
        }
        (*values)["from"] = "-" + std::to_string(*count) + "s";
    }
    stream_export(options_.backend, *format, std::move(*values), request, reply);
}

}  // namespace perfleet
