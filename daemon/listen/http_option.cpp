#include "daemon/listen/http_option.h"

namespace perfleet {
namespace {

constexpr const char* kOption = "--http";
constexpr std::uint16_t kExamplePort = 7413;

}  // namespace

Result<ListenAddress> parse_http_address(const std::string& text) {
    auto address = PERFLEET_TRY(parse_listen_address(kOption, text, kExamplePort));
    if (!address.is_loopback()) {
        return Error{ErrorCode::kUsage, std::string{kOption} + " " + text +
                                            ": HTTP serves this machine alone, as it asks nobody who they are; give "
                                            "127.0.0.1:" +
                                            std::to_string(address.port == 0 ? kExamplePort : address.port) +
                                            ", and for others put a proxy in front of it that does"};
    }
    return address;
}

OptionRow http_row(HttpOptions& options) {
    return {"--http ADDRESS", options.address,
            "Answer queries over HTTP, too: Grafana's, scripts', `go tool pprof`'s; 127.0.0.1:" +
                std::to_string(kExamplePort) + ", * as the port takes a free one. Default: no HTTP",
            is_not_empty, passes([](const std::string& text) -> Result<Done> {
                PERFLEET_TRY(parse_http_address(text));
                return Done{};
            })};
}

OptionRow http_service_name_row(HttpOptions& options) {
    return {"--http-service-name KEY", options.service_key,
            "What Grafana calls service_name where a session has no label of that name: comm, unit or container of "
            "the rows, or target or another label of the session",
            is_not_empty, shows_default};
}

OptionRow http_import_row(HttpOptions& options) {
    return {"--http-import", options.takes_profiles,
            "Store profiles of pprof that are posted to /api/v1/import, from any account of this machine and for any "
            "target"};
}

}  // namespace perfleet
