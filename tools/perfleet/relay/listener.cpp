#include "tools/perfleet/relay/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <utility>

#include "schemas/host/endpoint.h"

namespace perfleet {
namespace {

constexpr int kBacklog = 64;

struct Address {
    sockaddr_storage bytes{};
    socklen_t size = 0;

    [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
    [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&bytes); }
};

template <class Kind>
Address address_of(const Kind& kind) {
    Address address;
    std::memcpy(&address.bytes, &kind, sizeof kind);
    address.size = sizeof kind;
    return address;
}

// The address of a checked endpoint: literal, with a port or `*`.
Address tcp_address(const std::string& endpoint) {
    const std::size_t begin = std::strlen("tcp://");
    const std::size_t colon = endpoint.rfind(':');
    const std::string host = endpoint.substr(begin, colon - begin);
    std::uint16_t port = 0;  // any free port
    (void)std::from_chars(endpoint.data() + colon + 1, endpoint.data() + endpoint.size(), port);
    if (host.starts_with('[')) {
        sockaddr_in6 address{};
        address.sin6_family = AF_INET6;
        address.sin6_port = htons(port);
        (void)::inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &address.sin6_addr);
        return address_of(address);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    (void)::inet_pton(AF_INET, host.c_str(), &address.sin_addr);
    return address_of(address);
}

Address path_address(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    return address_of(address);
}

Error bind_error(int number, const std::string& what) {
    return number == EADDRINUSE ? Error{ErrorCode::kBusy, what + ": another program listens there; choose another"}
                                : error_from_errno(number, what);
}

// Removes a socket that nothing listens on: an ended program left it behind.
void remove_left_socket(const std::string& path, const Address& address) {
    const FileDescriptor probe{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (::connect(probe.get(), address.get(), address.size) != 0 && errno == ECONNREFUSED) {
        ::unlink(path.c_str());
    }
}

}  // namespace

Result<Listener> Listener::bind(const std::string& endpoint) {
    const std::string what = "--listen " + endpoint;
    if (auto checked = check_endpoint("--listen", endpoint, EndpointReach::kThisMachine); !checked) {
        return Error{checked.error().code, checked.error().message};
    }
    const bool is_path = endpoint.starts_with("ipc://");
    if (!is_path && !endpoint.starts_with("tcp://")) {
        return Error{ErrorCode::kUsage, what + ": targets come in over tcp:// or ipc://"};
    }
    const std::string path = is_path ? endpoint.substr(6) : "";
    Address address = is_path ? path_address(path) : tcp_address(endpoint);
    FileDescriptor socket{::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    const int one = 1;
    if (socket.get() < 0 || ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0) {
        return error_from_errno(errno, what);
    }
    if (is_path) {
        remove_left_socket(path, address);
    }
    if (::bind(socket.get(), address.get(), address.size) != 0 || ::listen(socket.get(), kBacklog) != 0) {
        return bind_error(errno, what);
    }
    std::string bound = endpoint;
    if (!is_path) {
        if (::getsockname(socket.get(), address.get(), &address.size) != 0) {
            return error_from_errno(errno, what);
        }
        const std::uint16_t port = address.bytes.ss_family == AF_INET6
                                       ? reinterpret_cast<const sockaddr_in6*>(&address.bytes)->sin6_port
                                       : reinterpret_cast<const sockaddr_in*>(&address.bytes)->sin_port;
        bound = endpoint.substr(0, endpoint.rfind(':') + 1) + std::to_string(ntohs(port));
    }
    return Listener{std::move(socket), std::move(bound), path};
}

Listener::~Listener() {
    if (socket_.get() >= 0 && !path_.empty()) {
        ::unlink(path_.c_str());
    }
}

FileDescriptor Listener::accept() const {
    FileDescriptor accepted{::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
    if (accepted.get() >= 0 && path_.empty()) {
        const int one = 1;
        (void)::setsockopt(accepted.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        (void)::setsockopt(accepted.get(), SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    }
    return accepted;
}

}  // namespace perfleet
