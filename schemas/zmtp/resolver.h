// The addresses of `tcp://HOST:PORT` or `ipc://PATH`. Names are asked for on a thread of their own, for that may take
// long; it outlives whoever doesn't wait for it.
#pragma once

#include <sys/socket.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace perfleet::zmtp {

struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t size = 0;

    [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

class Resolver {
public:
    static constexpr std::size_t kAddressesMax = 16;

    // `endpoint` is one that check_peer_endpoint() takes.
    explicit Resolver(const std::string& endpoint);

    // Readable when there is an answer; -1: there is one already.
    [[nodiscard]] int fd() const;
    // Nothing: not yet. Empty: there are none.
    [[nodiscard]] std::optional<std::vector<SocketAddress>> take();

private:
    struct Shared;
    std::optional<std::vector<SocketAddress>> addresses_;
    std::shared_ptr<Shared> shared_;
};

}  // namespace perfleet::zmtp
