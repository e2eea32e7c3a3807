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
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);  // the path is always short enough
    return address;
}

const sockaddr* generic(const sockaddr_un& address) { return reinterpret_cast<const sockaddr*>(&address); }

}  // namespace

Result<LocalSocket> LocalSocket::in(const std::string& folder, std::string_view name) {
    FileDescriptor opened{::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
    if (!opened) {
        return error_from_errno(errno, folder);
    }
    return LocalSocket{std::move(opened), folder + "/" + std::string{name}, name};
}

LocalSocket::LocalSocket(FileDescriptor folder, std::string named, std::string_view name)
    : folder_{std::move(folder)},
      named_{std::move(named)},
      path_{"/proc/self/fd/" + std::to_string(folder_.get()) + "/" + std::string{name}} {}

Result<FileDescriptor> LocalSocket::bind(int type) const {
    const sockaddr_un address = address_of(path_);
    FileDescriptor socket{::socket(AF_UNIX, type | SOCK_CLOEXEC, 0)};
    if (!socket) {
        return error_from_errno(errno, "can't make a socket");
    }
    ::unlink(path_.c_str());
    if (::bind(socket.get(), generic(address), sizeof address) != 0 || ::chmod(path_.c_str(), S_IRUSR | S_IWUSR) != 0) {
        return error_from_errno(errno, named_);
    }
    return socket;
}

FileDescriptor LocalSocket::connect(int type) const {
    const sockaddr_un address = address_of(path_);
    FileDescriptor socket{::socket(AF_UNIX, type | SOCK_CLOEXEC, 0)};
    if (socket && ::connect(socket.get(), generic(address), sizeof address) != 0) {
        socket.reset();
    }
    return socket;
}

void LocalSocket::remove() const { ::unlink(path_.c_str()); }

}  // namespace perfleet
