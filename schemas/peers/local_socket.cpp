#include "schemas/peers/local_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace perfleet {
namespace {

sockaddr_un address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);  // always short
    return address;
}

const sockaddr* generic(const sockaddr_un& address) { return reinterpret_cast<const sockaddr*>(&address); }

}  // namespace

Result<LocalSocket> LocalSocket::in(const std::string& folder, std::string_view name) {
    const int fd = ::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return error_from_errno(errno, folder);
    }
    return LocalSocket{fd, folder + "/" + std::string{name}, name};
}

LocalSocket::LocalSocket(int folder_fd, std::string named, std::string_view name)
    : folder_fd_{folder_fd},
      named_{std::move(named)},
      path_{"/proc/self/fd/" + std::to_string(folder_fd) + "/" + std::string{name}} {}

LocalSocket::LocalSocket(LocalSocket&& other) noexcept
    : folder_fd_{std::exchange(other.folder_fd_, -1)}, named_{std::move(other.named_)}, path_{std::move(other.path_)} {}

LocalSocket::~LocalSocket() {
    if (folder_fd_ >= 0) {
        ::close(folder_fd_);
    }
}

Result<int> LocalSocket::bind(int type) const {
    const sockaddr_un address = address_of(path_);
    const int fd = ::socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return error_from_errno(errno, "can't make a socket");
    }
    ::unlink(path_.c_str());
    if (::bind(fd, generic(address), sizeof address) != 0 || ::chmod(path_.c_str(), S_IRUSR | S_IWUSR) != 0) {
        Error error = error_from_errno(errno, named_);
        ::close(fd);
        return error;
    }
    return fd;
}

int LocalSocket::connect(int type) const {
    const sockaddr_un address = address_of(path_);
    const int fd = ::socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    if (fd < 0 || ::connect(fd, generic(address), sizeof address) == 0) {
        return fd < 0 ? -errno : fd;
    }
    const int error = errno;
    ::close(fd);
    return -error;
}

void LocalSocket::remove() const { ::unlink(path_.c_str()); }

}  // namespace perfleet
