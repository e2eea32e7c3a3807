// The addresses of `tcp://HOST:PORT` or `ipc://PATH`, as endpoints in digits: libzmq's thread would stand still for all
// connections while it looks up a name, and tries one address. Names are asked for on a thread of their own, for that
// may take long; it outlives whoever doesn't wait for it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace perfleet::zeromq {

class Resolver {
public:
    static constexpr std::size_t kAddressesMax = 16;

    // `endpoint` is one that check_peer_endpoint() takes.
    explicit Resolver(const std::string& endpoint);

    // Readable when there is an answer; -1: there is one already.
    [[nodiscard]] int fd() const;
    // Nothing: not yet. Empty: there are none.
    [[nodiscard]] std::optional<std::vector<std::string>> take();

private:
    struct Shared;
    std::optional<std::vector<std::string>> addresses_;
    std::shared_ptr<Shared> shared_;
};

}  // namespace perfleet::zeromq
