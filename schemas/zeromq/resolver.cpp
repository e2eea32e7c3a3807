#include "schemas/zeromq/resolver.h"

#include <netdb.h>
#include <sys/socket.h>

#include <array>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "schemas/host/wake_event.h"

namespace perfleet::zeromq {
namespace {

std::vector<std::string> look_up(const std::string& host, const std::string& port, int flags) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags;
    addrinfo* found = nullptr;
    std::vector<std::string> addresses;
    if (::getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) {
        return addresses;
    }
    for (const addrinfo* at = found; at != nullptr && addresses.size() < Resolver::kAddressesMax; at = at->ai_next) {
        std::array<char, NI_MAXHOST> digits{};
        if (::getnameinfo(at->ai_addr, at->ai_addrlen, digits.data(), digits.size(), nullptr, 0, NI_NUMERICHOST) == 0) {
            const std::string address{digits.data()};
            addresses.push_back("tcp://" + (at->ai_family == AF_INET6 ? "[" + address + "]" : address) + ":" + port);
        }
    }
    ::freeaddrinfo(found);
    return addresses;
}

}  // namespace

struct Resolver::Shared {
    WakeEvent event;
    std::mutex mutex;
    std::optional<std::vector<std::string>> addresses;
};

Resolver::Resolver(const std::string& endpoint) {
    constexpr std::string_view kTcp = "tcp://";
    if (endpoint.starts_with("ipc://")) {
        addresses_.emplace({endpoint});
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
        addresses_.emplace();  // no thread could be started; tried again later
    }
}

int Resolver::fd() const { return addresses_.has_value() || shared_ == nullptr ? -1 : shared_->event.fd(); }

std::optional<std::vector<std::string>> Resolver::take() {
    if (addresses_.has_value()) {
        return std::exchange(addresses_, std::nullopt);
    }
    const std::lock_guard lock{shared_->mutex};
    return std::exchange(shared_->addresses, std::nullopt);
}

}  // namespace perfleet::zeromq
