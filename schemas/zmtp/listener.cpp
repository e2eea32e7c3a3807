#include "schemas/zmtp/listener.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

namespace perfleet::zmtp {
namespace {

// TCP keepalive detects peers that vanished without closing.
constexpr int kKeepaliveIdleS = 10;
constexpr int kKeepaliveIntervalS = 5;
constexpr int kKeepaliveCount = 3;
constexpr int kUnacknowledgedMs = 25'000;

void set_tcp_options(int fd) {
    const auto set = [fd](int level, int option, int value) { ::setsockopt(fd, level, option, &value, sizeof value); };
    set(IPPROTO_TCP, TCP_NODELAY, 1);
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, kKeepaliveIdleS);
    set(IPPROTO_TCP, TCP_KEEPINTVL, kKeepaliveIntervalS);
    set(IPPROTO_TCP, TCP_KEEPCNT, kKeepaliveCount);
    set(IPPROTO_TCP, TCP_USER_TIMEOUT, kUnacknowledgedMs);
}

struct Address {
    sockaddr_storage storage{};
    socklen_t size = 0;

    [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
    [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

template <class SocketAddress>
Address address_from(const SocketAddress& address) {
    static_assert(sizeof address <= sizeof(sockaddr_storage));
    Address result;
    std::memcpy(&result.storage, &address, sizeof address);
    result.size = sizeof address;
    return result;
}

// The IPv4 address of an interface.
std::optional<in_addr> address_of_interface(const std::string& name) {
    ifaddrs* all = nullptr;
    if (getifaddrs(&all) != 0) {
        return std::nullopt;
    }
    std::optional<in_addr> found;
    for (const ifaddrs* at = all; at != nullptr && !found.has_value(); at = at->ifa_next) {
        if (at->ifa_addr != nullptr && at->ifa_addr->sa_family == AF_INET && name == at->ifa_name) {
            sockaddr_in address{};
            std::memcpy(&address, at->ifa_addr, sizeof address);
            found = address.sin_addr;
        }
    }
    freeifaddrs(all);
    return found;
}

std::optional<Address> tcp_address(std::string_view place) {
    const std::size_t colon = place.rfind(':');
    if (colon == std::string_view::npos) {
        return std::nullopt;
    }
    std::string host{place.substr(0, colon)};
    const std::string_view port_text = place.substr(colon + 1);
    std::uint16_t port = 0;
    if (port_text != "*" &&
        std::from_chars(port_text.data(), port_text.data() + port_text.size(), port).ec != std::errc{}) {
        return std::nullopt;
    }
    if (host.starts_with('[') && host.ends_with(']')) {
        sockaddr_in6 address{};
        address.sin6_family = AF_INET6;
        address.sin6_port = htons(port);
        const std::size_t percent = host.find('%');
        if (percent != std::string::npos) {
            address.sin6_scope_id = if_nametoindex(host.substr(percent + 1, host.size() - percent - 2).c_str());
        }
        host = host.substr(1, std::min(percent, host.size() - 1) - 1);
        return inet_pton(AF_INET6, host.c_str(), &address.sin6_addr) == 1 ? std::optional{address_from(address)}
                                                                          : std::nullopt;
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    if (host != "*" && inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) {
        const auto of_interface = address_of_interface(host);
        if (!of_interface.has_value()) {
            return std::nullopt;
        }
        address.sin_addr = *of_interface;
    }
    return address_from(address);
}

std::string tcp_endpoint(const Address& address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (address.storage.ss_family == AF_INET6) {
        sockaddr_in6 ipv6{};
        std::memcpy(&ipv6, &address.storage, sizeof ipv6);
        inet_ntop(AF_INET6, &ipv6.sin6_addr, text.data(), text.size());
        return "tcp://[" + std::string{text.data()} + "]:" + std::to_string(ntohs(ipv6.sin6_port));
    }
    sockaddr_in ipv4{};
    std::memcpy(&ipv4, &address.storage, sizeof ipv4);
    inet_ntop(AF_INET, &ipv4.sin_addr, text.data(), text.size());
    return "tcp://" + std::string{text.data()} + ":" + std::to_string(ntohs(ipv4.sin_port));
}

// True for a Unix socket without a listening process.
bool is_orphaned(const Address& address, const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) {
        return false;
    }
    const FileDescriptor fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    return ::connect(fd.get(), address.get(), address.size) != 0 && errno == ECONNREFUSED;
}

Error bind_error(std::string_view option, const std::string& endpoint) {
    const int said = errno;
    const std::string what = std::string{option} + " " + endpoint + ": ";
    switch (said) {
        case EADDRINUSE:
            return Error{ErrorCode::kBusy,
                         what + "another program listens there; choose another port, or * for a free one"};
        case EACCES:
        case EPERM:
            return Error{ErrorCode::kPermission,
                         what + std::strerror(said) + "; choose a port above 1023 or another path"};
        case EADDRNOTAVAIL:
        case ENODEV:
        case EINVAL:
            return Error{ErrorCode::kUsage, what + std::strerror(said) + "; choose an address of this machine"};
        default: return error_from_errno(said, std::string{option} + " " + endpoint);
    }
}

}  // namespace

Result<Listener> Listener::open(std::string_view option, const std::string& endpoint) {
    std::optional<Address> address;
    std::string path;
    if (endpoint.starts_with("tcp://")) {
        address = tcp_address(std::string_view{endpoint}.substr(6));
    } else if (endpoint.starts_with("ipc://")) {
        path = endpoint.substr(6);
        sockaddr_un at{};
        at.sun_family = AF_UNIX;
        if (!path.empty() && path.size() < sizeof at.sun_path) {
            path.copy(at.sun_path, path.size());
            address = address_from(at);
        }
    }
    if (!address.has_value()) {
        return Error{ErrorCode::kUsage,
                     std::string{option} + " " + endpoint + ": not an address of this machine; choose one"};
    }
    const int fd = ::socket(address->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return bind_error(option, endpoint);
    }
    Listener listener{FileDescriptor{fd}, endpoint, {}};
    const int on = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address->storage.ss_family == AF_INET6) {
        ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    }
    int bound = ::bind(fd, address->get(), address->size);
    if (bound != 0 && errno == EADDRINUSE && !path.empty() && is_orphaned(*address, path)) {
        ::unlink(path.c_str());
        bound = ::bind(fd, address->get(), address->size);
    }
    if (bound != 0) {
        return bind_error(option, endpoint);
    }
    listener.own_path_ = path;
    if (::listen(fd, kBacklog) != 0) {
        return bind_error(option, endpoint);
    }
    if (path.empty()) {
        Address got;
        got.size = sizeof got.storage;
        if (::getsockname(fd, got.get(), &got.size) != 0) {
            return bind_error(option, endpoint);
        }
        listener.endpoint_ = tcp_endpoint(got);
    }
    return listener;
}

Result<Listener> Listener::adopt(FileDescriptor bound, std::string endpoint) {
    Listener listener{std::move(bound), std::move(endpoint), {}};
    if (::listen(listener.fd(), kBacklog) != 0) {
        return error_from_errno(errno, listener.endpoint_);
    }
    return listener;
}

FileDescriptor Listener::accept() const {
    FileDescriptor connection{::accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)};
    if (connection) {
        set_tcp_options(connection.get());
    }
    return connection;
}

Listener::Listener(FileDescriptor fd, std::string endpoint, std::string own_path)
    : fd_{std::move(fd)}, endpoint_{std::move(endpoint)}, own_path_{std::move(own_path)} {}

Listener::Listener(Listener&& other) noexcept
    : fd_{std::move(other.fd_)}, endpoint_{std::move(other.endpoint_)}, own_path_{std::exchange(other.own_path_, {})} {}

Listener::~Listener() {
    if (!own_path_.empty()) {
        ::unlink(own_path_.c_str());
    }
}

std::string peer_address(int fd) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
        return "an unknown address";
    }
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (address.ss_family == AF_INET) {
        sockaddr_in ipv4{};
        std::memcpy(&ipv4, &address, sizeof ipv4);
        return inet_ntop(AF_INET, &ipv4.sin_addr, text.data(), text.size());
    }
    if (address.ss_family == AF_INET6) {
        sockaddr_in6 ipv6{};
        std::memcpy(&ipv6, &address, sizeof ipv6);
        return inet_ntop(AF_INET6, &ipv6.sin6_addr, text.data(), text.size());
    }
    return "a Unix socket";
}

}  // namespace perfleet::zmtp
