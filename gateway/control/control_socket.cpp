#include "gateway/control/control_socket.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "schemas/peers/local_socket.h"

namespace perfleet {
namespace {

std::string name_in(const std::string& folder) { return folder + "/" + std::string{kControlSocketName}; }

}  // namespace

Result<FileDescriptor> listen_control_socket(const std::string& folder) {
    constexpr int kBacklog = 8;
    const auto socket = PERFLEET_TRY(LocalSocket::in(folder, kControlSocketName));
    auto fd = PERFLEET_TRY(socket.bind(SOCK_SEQPACKET | SOCK_NONBLOCK));
    if (::listen(fd.get(), kBacklog) != 0) {
        return error_from_errno(errno, name_in(folder));
    }
    return fd;
}

void remove_control_socket(const std::string& folder) { ::unlink(name_in(folder).c_str()); }

Result<FileDescriptor> connect_control_socket(const std::string& folder) {
    const auto socket = PERFLEET_TRY(LocalSocket::in(folder, kControlSocketName));
    FileDescriptor fd = socket.connect(SOCK_SEQPACKET);
    if (fd) {
        return fd;
    }
    const int error = errno;
    if (error == ENOENT || error == ECONNREFUSED) {
        return Error{ErrorCode::kNotFound,
                     "no gateway serves " + folder +
                         " now: control requests go through the process that writes to it (perfleet-gateway "
                         "--data, or perfleet record)"};
    }
    if (error == EACCES || error == EPERM) {
        return Error{
            ErrorCode::kPermission,
            name_in(folder) + ": only the gateway's user and root may send control requests; run this as one of them"};
    }
    return error_from_errno(error, name_in(folder));
}

bool is_own_peer(int fd) {
    ucred peer{};
    socklen_t size = sizeof peer;
    return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && (peer.uid == 0 || peer.uid == ::geteuid());
}

}  // namespace perfleet
