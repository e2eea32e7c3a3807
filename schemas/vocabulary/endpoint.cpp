#include "schemas/vocabulary/endpoint.h"

#include <arpa/inet.h>

#include <charconv>
#include <cstdint>
#include <string>

namespace perfleet {
namespace {

constexpr std::size_t kIpcPathSizeMax = 107;  // sockaddr_un::sun_path without its NUL

constexpr std::string_view kNotAnEndpoint =
    "not an endpoint; write tcp://127.0.0.1:PORT, tcp://[::1]:PORT or ipc://PATH";

struct Asked {
    std::string_view option;
    std::string_view endpoint;
};

Error usage(const Asked& asked, std::string_view what) {
    return Error{ErrorCode::kUsage,
                 std::string{asked.option}.append(" ").append(asked.endpoint).append(": ").append(what)};
}

bool is_port(std::string_view text) {
    if (text == "*") {
        return true;
    }
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    return error == std::errc{} && end == text.data() + text.size();
}

bool is_loopback(std::string_view host) {
    if (host.starts_with('[') && host.ends_with(']')) {
        in6_addr address{};
        const std::string inner{host.substr(1, host.size() - 2)};
        return inet_pton(AF_INET6, inner.c_str(), &address) == 1 && IN6_IS_ADDR_LOOPBACK(&address);
    }
    in_addr address{};
    return inet_pton(AF_INET, std::string{host}.c_str(), &address) == 1 && (ntohl(address.s_addr) >> 24) == 127;
}

Result<Done> check_tcp(const Asked& asked, std::string_view place, EndpointReach reach) {
    const std::size_t colon = place.rfind(':');
    if (colon == std::string_view::npos || colon == 0 || !is_port(place.substr(colon + 1))) {
        return usage(asked, "no port; write tcp://ADDRESS:PORT, with * as PORT for a free one");
    }
    if (reach == EndpointReach::kThisMachine && !is_loopback(place.substr(0, colon))) {
        return usage(asked,
                     "without keys this program listens on this machine only; give it keys (`perfleet keygen --help` "
                     "says how), or "
                     "use tcp://127.0.0.1:PORT or tcp://[::1]:PORT and bring remote peers in through a tunnel (ssh -R "
                     "PORT:127.0.0.1:PORT HOST)");
    }
    return Done{};
}

}  // namespace

Result<Done> check_endpoint(std::string_view option, std::string_view endpoint, EndpointReach reach) {
    const Asked asked{option, endpoint};
    if (endpoint.find_first_of(std::string_view{"\0\n, ", 4}) != std::string_view::npos) {
        return usage(asked, "an endpoint has no spaces and commas; name each one with an option of its own");
    }
    if (endpoint.starts_with("tcp://")) {
        return check_tcp(asked, endpoint.substr(6), reach);
    }
    if (endpoint.starts_with("ipc://")) {
        const std::string_view path = endpoint.substr(6);
        if (path.empty() || path.size() > kIpcPathSizeMax) {
            return usage(asked, "write ipc://PATH, with a path of at most 107 bytes");
        }
        return Done{};
    }
    if (endpoint.starts_with("inproc://") && endpoint.size() > 9) {
        return Done{};
    }
    return usage(asked, kNotAnEndpoint);
}

Result<Done> check_program_endpoint(std::string_view option, std::string_view endpoint, bool has_keys) {
    if (endpoint.starts_with("inproc://")) {
        return usage({option, endpoint}, kNotAnEndpoint);
    }
    return check_endpoint(option, endpoint, has_keys ? EndpointReach::kAnywhere : EndpointReach::kThisMachine);
}

}  // namespace perfleet
