#include "schemas/host/endpoint.h"

#include <arpa/inet.h>

#include <charconv>
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

bool is_peer_port(std::string_view text) {
    return is_port(text) && text != "*" && text.find_first_not_of('0') != text.npos;
}

// A name, an IPv4 address, or an IPv6 address in brackets, with an optional zone.
bool is_peer_host(std::string_view host) {
    if (host.starts_with('[')) {
        const std::size_t end = host.find_first_of("%]");
        in6_addr address{};
        const std::string inner{host.substr(1, end == host.npos ? end : end - 1)};
        return host.ends_with(']') && host.find(']') == host.size() - 1 &&
               inet_pton(AF_INET6, inner.c_str(), &address) == 1;
    }
    return !host.empty() && host.find_first_of("*:;/[]%") == host.npos;
}

bool is_ipc_path(std::string_view path) { return !path.empty() && path.size() <= kIpcPathSizeMax; }

// Whether it contains a separator of endpoint lists, or a NUL, which ends an endpoint for libzmq.
bool has_separator(std::string_view endpoint) {
    return endpoint.find_first_of(std::string_view{"\0\n, ", 4}) != std::string_view::npos;
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
    if (has_separator(endpoint)) {
        return usage(asked, "an endpoint has no spaces and commas; name each one with an option of its own");
    }
    if (endpoint.starts_with("tcp://")) {
        return check_tcp(asked, endpoint.substr(6), reach);
    }
    if (endpoint.starts_with("ipc://")) {
        if (!is_ipc_path(endpoint.substr(6))) {
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

Result<Done> check_peer_endpoint(std::string_view option, std::string_view endpoint) {
    const std::size_t colon = endpoint.rfind(':');
    const bool is_tcp = endpoint.starts_with("tcp://") && colon > 6 && is_peer_host(endpoint.substr(6, colon - 6)) &&
                        is_peer_port(endpoint.substr(colon + 1));
    const bool is_ipc = endpoint.starts_with("ipc://") && is_ipc_path(endpoint.substr(6));
    if (has_separator(endpoint) || !(is_tcp || is_ipc)) {
        return usage({option, endpoint},
                     "nothing to connect to; write tcp://HOST:PORT with a port from 1 to 65535 (an IPv6 address in "
                     "brackets), or ipc://PATH");
    }
    return Done{};
}

}  // namespace perfleet
