#include "daemon/listen/listen_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>

namespace perfleet {
namespace {

Error usage_error(const std::string& option, const std::string& text, const std::string& what, std::uint16_t example) {
    return {ErrorCode::kUsage, option + " " + text + ": " + what + "; give HOST:PORT, such as 127.0.0.1:" +
                                   std::to_string(example) + " for this machine alone, * as the port for a free one"};
}

sockaddr_in place_of(const ListenAddress& address) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(address.port);
    (void)inet_pton(AF_INET, address.host.c_str(), &place.sin_addr);
    return place;
}

Result<FileDescriptor> listen_at_socket(const ListenAddress& address) {
    const std::string where = address.option + " " + address.text();
    sockaddr_un place{};
    place.sun_family = AF_UNIX;
    std::memcpy(place.sun_path, address.path.c_str(), address.path.size() + 1);
    const auto* const generic = reinterpret_cast<const sockaddr*>(&place);
    const FileDescriptor probe{socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    if (connect(probe.get(), generic, sizeof place) == 0 || errno == EAGAIN) {
        return Error{ErrorCode::kBusy, where + ": another program listens there; choose another path"};
    }
    if (errno == ECONNREFUSED) {
        struct stat status {};
        if (lstat(address.path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode)) {
            unlink(address.path.c_str());
        }
    }
    FileDescriptor listening{socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    // The mode before, so that the socket never has another one, and after, against the umask.
    if (!listening || fchmod(listening.get(), kSocketMode) != 0 || bind(listening.get(), generic, sizeof place) != 0 ||
        chmod(address.path.c_str(), kSocketMode) != 0 || listen(listening.get(), SOMAXCONN) != 0) {
        return error_from_errno(errno, where);
    }
    return listening;
}

}  // namespace

Result<std::optional<ListenAddress>> parse_socket_path(const std::string& option, const std::string& text) {
    constexpr std::string_view kPrefix = "unix:";
    if (!text.starts_with(kPrefix)) {
        return std::optional<ListenAddress>{};
    }
    ListenAddress address{option, 0, {}, 0, text.substr(kPrefix.size())};
    if (!address.path.starts_with('/') || address.path.size() >= sizeof(sockaddr_un::sun_path) ||
        address.path.find_first_of(" \n") != std::string::npos) {
        return Error{ErrorCode::kUsage, option + " " + text + ": give unix:PATH with an absolute path of at most " +
                                            std::to_string(sizeof(sockaddr_un::sun_path) - 1) +
                                            " bytes without blanks"};
    }
    return std::optional{std::move(address)};
}

Result<ListenAddress> parse_listen_address(const std::string& option, const std::string& text, std::uint16_t example) {
    const auto refused = [&](const std::string& what) { return usage_error(option, text, what, example); };
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos) {
        return refused("it lacks a host or a port");
    }
    ListenAddress address{option, example, text.substr(0, colon), 0};
    in_addr parsed{};
    if (inet_pton(AF_INET, address.host.c_str(), &parsed) != 1) {
        return refused("'" + address.host + "' is no IPv4 address");
    }
    const std::string_view port{text.data() + colon + 1, text.size() - colon - 1};
    if (port != "*") {
        const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
        if (error != std::errc{} || end != port.data() + port.size()) {
            return refused("'" + std::string{port} + "' is no port");
        }
    }
    return address;
}

Result<FileDescriptor> listen_at(const ListenAddress& address) {
    if (!address.path.empty()) {
        return listen_at_socket(address);
    }
    const std::string where = address.option + " " + address.text();
    FileDescriptor listening{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    if (!listening) {
        return error_from_errno(errno, where);
    }
    const int one = 1;
    (void)setsockopt(listening.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    const sockaddr_in place = place_of(address);
    if (bind(listening.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0 &&
        listen(listening.get(), SOMAXCONN) == 0) {
        return listening;
    }
    switch (const int bind_errno = errno; bind_errno) {
        case EADDRINUSE:
            return Error{ErrorCode::kBusy,
                         where + ": another program listens there; choose another port, or * for a free one"};
        case EADDRNOTAVAIL:
            return usage_error(address.option, address.text(), "it is no address of this machine", address.example);
        default: return error_from_errno(bind_errno, where);
    }
}

std::string bound_address(const ListenAddress& address, int listening_fd) {
    if (!address.path.empty()) {
        return address.text();
    }
    sockaddr_in place{};
    socklen_t size = sizeof place;
    (void)getsockname(listening_fd, reinterpret_cast<sockaddr*>(&place), &size);
    return address.host + ":" + std::to_string(ntohs(place.sin_port));
}

}  // namespace perfleet
