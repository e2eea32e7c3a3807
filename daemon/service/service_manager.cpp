#include "daemon/service/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>

namespace perfleet {

ServiceManager ServiceManager::from_environment() {
    const char* const socket = std::getenv("NOTIFY_SOCKET");
    ServiceManager manager{socket == nullptr ? "" : socket};
    unsetenv("NOTIFY_SOCKET");
    return manager;
}

// sd_notify(3), "Notes": sends a datagram to the socket.
void ServiceManager::send(std::string_view message) const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (socket_.empty() || socket_.size() >= sizeof address.sun_path) {
        return;
    }
    std::copy(socket_.begin(), socket_.end(), std::begin(address.sun_path));
    if (socket_.front() == '@') {
        address.sun_path[0] = '\0';
    }
    const int socket_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket_fd < 0) {
        return;
    }
    // A vanished service manager is no reason to stop.
    (void)sendto(socket_fd, message.data(), message.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address),
                 static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size()));
    close(socket_fd);
}

}  // namespace perfleet
