#include "gateway/control/control_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace perfleet {
namespace {

// Folders may have longer names than an address has room for; by its descriptor each has a short one.
class SocketAddress {
public:
    explicit SocketAddress(const std::string& folder)
        : folder_fd_{::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)}, error_{folder_fd_ < 0 ? errno : 0} {
        path_ = "/proc/self/fd/" + std::to_string(folder_fd_) + "/" + std::string{kControlSocketName};
        address_.sun_family = AF_UNIX;
        std::memcpy(address_.sun_path, path_.c_str(), path_.size() + 1);
    }
    ~SocketAddress() {
        if (folder_fd_ >= 0) {
            ::close(folder_fd_);
        }
    }
    SocketAddress(const SocketAddress&) = delete;
    SocketAddress& operator=(const SocketAddress&) = delete;

    [[nodiscard]] int error() const { return error_; }
    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address_); }
    [[nodiscard]] static socklen_t size_bytes() { return sizeof(sockaddr_un); }

private:
    int folder_fd_;
    int error_;
    std::string path_;
    sockaddr_un address_{};
};

std::string name_in(const std::string& folder) { return folder + "/" + std::string{kControlSocketName}; }

}  // namespace

Result<int> listen_control_socket(const std::string& folder) {
    constexpr int kBacklog = 8;
    const SocketAddress address{folder};
    if (address.error() != 0) {
        return error_from_errno(address.error(), folder);
    }
    const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return error_from_errno(errno, "can't make a socket");
    }
    ::unlink(address.path().c_str());
    // Nobody can connect before listen(), and by then the mode is right.
    if (::bind(fd, address.get(), SocketAddress::size_bytes()) != 0 ||
        ::chmod(address.path().c_str(), S_IRUSR | S_IWUSR) != 0 || ::listen(fd, kBacklog) != 0) {
        Error error = error_from_errno(errno, name_in(folder));
        ::close(fd);
        return error;
    }
    return fd;
}

void remove_control_socket(const std::string& folder) { ::unlink(name_in(folder).c_str()); }

Result<int> connect_control_socket(const std::string& folder) {
    const SocketAddress address{folder};
    if (address.error() != 0) {
        return error_from_errno(address.error(), folder);
    }
    const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return error_from_errno(errno, "can't make a socket");
    }
    if (::connect(fd, address.get(), SocketAddress::size_bytes()) == 0) {
        return fd;
    }
    const int error = errno;
    ::close(fd);
    if (error == ENOENT || error == ECONNREFUSED) {
        return Error{ErrorCode::kNotFound, "no gateway serves " + folder +
                                               " now: orders go through the one that writes to it (perfleet-gateway "
                                               "--data, or perfleet record)"};
    }
    if (error == EACCES || error == EPERM) {
        return Error{ErrorCode::kPermission,
                     name_in(folder) + ": only the gateway's user and root give orders; try it as one of them"};
    }
    return error_from_errno(error, name_in(folder));
}

bool is_own_peer(int fd) {
    ucred peer{};
    socklen_t size = sizeof peer;
    return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && (peer.uid == 0 || peer.uid == ::geteuid());
}

}  // namespace perfleet
