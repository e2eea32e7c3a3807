#include "daemon/listen/http_option.h"

#include <algorithm>

namespace perfleet {
namespace {

constexpr const char* kOption = "--http";
constexpr std::uint16_t kExamplePort = 7413;

Result<ListenAddress> parsed(const std::string& text) {
    auto socket = PERFLEET_TRY(parse_socket_path(kOption, text));
    return socket ? std::move(*socket) : parse_listen_address(kOption, text, kExamplePort);
}

Result<Done> check_upstream(const std::string& url) {
    const bool is_url = url.starts_with("https://") || url.starts_with("http://");
    if (!is_url || url.ends_with('/') || std::ranges::any_of(url, [](char c) { return c <= ' ' || c > '~'; })) {
        return Error{ErrorCode::kUsage, "--http-debuginfod-upstream " + url +
                                            ": give a URL without / at its end, such as "
                                            "https://debuginfod.debian.net"};
    }
    return Done{};
}

}  // namespace

std::vector<std::string> HttpOptions::arguments() const {
    std::vector<std::string> words{"--http-service-name", service_key};
    for (const auto& [name, value] : {std::pair{"--http-tokens", &tokens},
                                      {"--http-certificate", &certificate},
                                      {"--http-key", &key},
                                      {"--http-client-ca", &client_ca},
                                      {"--http-debuginfod-upstream", &debuginfod_upstream}}) {
        if (!value->empty()) {
            words.insert(words.end(), {name, *value});
        }
    }
    if (takes_profiles) {
        words.insert(words.end(), {"--http-import", "--http-push-memory", std::to_string(push_memory_size_bytes)});
    }
    return words;
}

Result<ListenAddress> parse_http_address(const HttpOptions& options) {
    auto address = PERFLEET_TRY(parsed(options.address));
    const bool is_of_all = address.path.empty() && !address.is_loopback();
    const auto refused = [&](const std::string& why) {
        return Error{ErrorCode::kUsage,
                     std::string{kOption} + " " + options.address + ": " + why + "; or give 127.0.0.1:" +
                         std::to_string(address.port == 0 ? kExamplePort : address.port) + " for this machine alone"};
    };
    if (is_of_all && options.tokens.empty() && options.client_ca.empty()) {
        return refused(
            "other machines may reach it with tokens or client certificates alone: add --http-tokens FILE (perfleet "
            "keygen --token) or --http-client-ca FILE");
    }
    if (is_of_all && options.certificate.empty()) {
        return refused("other machines may reach it by TLS alone: add --http-certificate FILE and --http-key FILE");
    }
    return address;
}

std::vector<OptionRow> http_rows(HttpOptions& options) {
    return {
        {"--http ADDRESS", options.address,
         "Answer queries over HTTP, too: Grafana's, scripts', debuggers', `go tool pprof`'s; 127.0.0.1:" +
             std::to_string(kExamplePort) +
             ", * as the port takes a free one, or unix:PATH, a socket for owner and group. Other addresses need "
             "--http-tokens or --http-client-ca, and TLS. Default: no HTTP",
         is_not_empty, passes([](const std::string& text) -> Result<Done> {
             PERFLEET_TRY(parsed(text));
             return Done{};
         })},
        {"--http-service-name KEY", options.service_key,
         "Value of Grafana's service_name for sessions without a label of that name: comm, unit or container of "
         "the rows, or target or another label of the session",
         is_not_empty, shows_default},
        {"--http-import", options.takes_profiles,
         "Store profiles that are posted (/api/v1/import) or pushed by agents (OTLP, Pyroscope's), for any target: "
         "from clients whose token has the role push, or, without --http-tokens, from all that reach it"},
        {"--http-push-memory SIZE", options.push_memory_size_bytes,
         "Memory of the process that reads posted and pushed profiles: bytes, or with k, m, g. A push that needs more "
         "is refused",
         is_size, shows_default_of("1g")},
        {"--http-tokens FILE", options.tokens,
         "Clients of HTTP: a line `sha256:HASH ROLE[,ROLE] NAME` for each bearer token (perfleet keygen "
         "--token), with the roles read and push. Read again when it changes",
         is_not_empty, needs(kOption)},
        {"--http-certificate FILE", options.certificate,
         "Serve TLS with this chain of certificates (PEM). Read again when it changes", is_not_empty,
         needs("--http-key")},
        {"--http-key FILE", options.key, "Its private key (PEM), which others can't read", is_not_empty,
         needs("--http-certificate")},
        {"--http-client-ca FILE", options.client_ca,
         "Certificates (PEM) of the authorities whose client certificates may read and push; the common name is the "
         "client's name",
         is_not_empty, needs("--http-certificate")},
        {"--http-debuginfod-upstream URL", options.debuginfod_upstream,
         "Server to which debuginfod's clients are redirected for files that the store doesn't have, such as "
         "executables and sources",
         is_not_empty, needs(kOption), passes(check_upstream)}};
}

}  // namespace perfleet
