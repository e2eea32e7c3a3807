#include "schemas/zmtp/resolver.h"

#include <netdb.h>
#include <sys/un.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "schemas/vocabulary/wake_event.h"

namespace perfleet::zmtp {
namespace {

std::vector<SocketAddress> look_up(const std::string& host, const std::string& port, int flags) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags;
    addrinfo* found = nullptr;
    std::vector<SocketAddress> addresses;
    if (::getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) {
        return addresses;
    }
    for (const addrinfo* at = found; at != nullptr && addresses.size() < Resolver::kAddressesMax; at = at->ai_next) {
        SocketAddress& address = addresses.emplace_back();
        address.size = std::min<socklen_t>(at->ai_addrlen, sizeof address.storage);
        std::memcpy(&address.storage, at->ai_addr, address.size);
    }
    ::freeaddrinfo(found);
    return addresses;
}

SocketAddress unix_address(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::size_t size = std::min(path.size(), sizeof address.sun_path - 1);
    std::memcpy(address.sun_path, path.data(), size);
    SocketAddress result;
    result.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + size + 1);
    if (path.starts_with('@')) {  // an abstract name, as ZeroMQ writes it
        address.sun_path[0] = '\0';
        --result.size;
    }
    std::memcpy(&result.storage, &address, sizeof address);
    return result;
}

}  // namespace

struct Resolver::Shared {
    WakeEvent event;
    std::mutex mutex;
    std::optional<std::vector<SocketAddress>> addresses;
};

Resolver::Resolver(const std::string& endpoint) {
    constexpr std::string_view kIpc = "ipc://";
    constexpr std::string_view kTcp = "tcp://";
    if (endpoint.starts_with(kIpc)) {
        addresses_ = {unix_address(endpoint.substr(kIpc.size()))};
        return;
    }
    const std::size_t colon = endpoint.rfind(':');
    std::string host = endpoint.substr(kTcp.size(), colon - kTcp.size());
    const std::string port = endpoint.substr(colon + 1);
    if (host.starts_with('[')) {
        host = host.substr(1, host.size() - 2);
    }
    if (auto numeric = look_up(host, port, AI_NUMERICHOST | AI_NUMERICSERV); !numeric.empty()) {
        addresses_ = std::move(numeric);
        return;
    }
    shared_ = std::make_shared<Shared>();
    try {
        std::thread{[shared = shared_, host, port] {
            auto addresses = look_up(host, port, AI_NUMERICSERV);
            {
                const std::lock_guard lock{shared->mutex};
                shared->addresses = std::move(addresses);
            }
            shared->event.signal();
        }}.detach();
    } catch (const std::system_error&) {
        addresses_.emplace();  // no thread can be started now; tried again later
    }
}

int Resolver::fd() const { return addresses_.has_value() || shared_ == nullptr ? -1 : shared_->event.fd(); }

std::optional<std::vector<SocketAddress>> Resolver::take() {
    if (addresses_.has_value()) {
        return std::exchange(addresses_, std::nullopt);
    }
    const std::lock_guard lock{shared_->mutex};
    return std::exchange(shared_->addresses, std::nullopt);
}

}  // namespace perfleet::zmtp
