#include "query-engine/http/api/debuginfod.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <optional>

#include "query-engine/symbol/kept_symbols.h"
#include "schemas/text/hex.h"
#include "schemas/text/parse.h"
#include "schemas/vocabulary/batch_limits.h"

namespace perfleet {
namespace {

constexpr std::size_t kSentSizeBytes = 256U << 10;
constexpr std::string_view kSection = "section";
constexpr std::array<std::string_view, 4> kKinds{"debuginfo", kSection, "executable", "source"};

struct Wanted {
    std::string hex;
    std::string build_id;
    std::string_view kind;
    std::string_view name;  // of a section or source
};

// Nothing if this is no path of the protocol.
std::optional<Wanted> wanted_of(std::string_view path) {
    path.remove_prefix(kDebuginfodPath.size());
    Wanted wanted;
    wanted.hex = take_part(path, '/');
    wanted.build_id = bytes_of_hex(wanted.hex).value_or("");
    wanted.kind = take_part(path, '/');
    wanted.name = path;
    const bool is_build_id = !wanted.build_id.empty() && wanted.build_id.size() <= limits::kBuildIdSizeBytesMax &&
                             hex_of(wanted.build_id) == wanted.hex;
    return is_build_id && std::ranges::find(kKinds, wanted.kind) != kKinds.end() ? std::optional{std::move(wanted)}
                                                                                 : std::nullopt;
}

std::string escaped(std::string_view path) {
    constexpr std::string_view kPlain = "/-._~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    std::string text;
    for (std::size_t i = 0; i < path.size(); ++i) {
        text += kPlain.find(path[i]) != std::string_view::npos ? std::string{path[i]} : "%" + hex_of(path.substr(i, 1));
    }
    return text;
}

// Clients give their copy this time, and delete old copies.
std::string http_date_now() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    std::array<char, 64> text{};
    return {text.data(), std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts)};
}

void send_file(std::string_view bytes, const std::string& name, const HttpRequest& request, HttpReply& reply) {
    HttpResponse head{200, "application/octet-stream", {}};
    head.headers = {{"X-DEBUGINFOD-SIZE", std::to_string(bytes.size())},
                    {"X-DEBUGINFOD-FILE", name},
                    {"Last-Modified", http_date_now()}};
    const auto size_bytes_max = number_of<std::uint64_t>(request.header("x-debuginfod-maxsize"));
    if (size_bytes_max && *size_bytes_max != 0 && bytes.size() > *size_bytes_max) {
        head.status = 406;
        head.content_type = "text/plain";
        head.body = "the file has " + std::to_string(bytes.size()) + " bytes\n";
        return reply.send(std::move(head));
    }
    reply.begin(std::move(head));
    for (std::size_t at = 0; request.method != "HEAD" && at < bytes.size(); at += kSentSizeBytes) {
        if (!reply.write(std::as_bytes(std::span{bytes.substr(at, kSentSizeBytes)})).ok()) {
            return reply.abort();
        }
    }
}

}  // namespace

void answer_debuginfod(const HttpBackend& backend, const std::string& upstream, const HttpRequest& request,
                       HttpReply& reply) {
    const auto wanted = wanted_of(request.path);
    Result<Done> answered = Error{ErrorCode::kNotFound, "nothing is kept for this path"};
    if (wanted && backend.debug_file && (wanted->kind == kKinds.front() || wanted->kind == kSection)) {
        answered = backend.debug_file(wanted->build_id, [&](std::string file) -> Result<Done> {
            if (wanted->kind == kSection) {
                file = PERFLEET_TRY(section_of(std::move(file), wanted->name, wanted->hex));
            }
            send_file(file, wanted->hex + ".debug", request, reply);
            return Done{};
        });
    }
    if (answered.ok()) {
        return;
    }
    if (wanted && !upstream.empty() && answered.error().code == ErrorCode::kNotFound) {
        return reply.send({302, "", "", {{"Location", upstream + escaped(request.path)}}});
    }
    reply.send(error_answer(answered.error()));
}

}  // namespace perfleet
