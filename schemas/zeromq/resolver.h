// Resolves `tcp://HOST:PORT` or `ipc://PATH` to endpoints with numeric addresses. libzmq would block its thread, and
// with it all connections, during a name lookup, and tries only one address. Names are looked up on a separate thread,
// which may take long and may outlive this object.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace perfleet::zeromq {

class Resolver {
public:
    static constexpr std::size_t kAddressesMax = 16;

    // check_peer_endpoint() must accept `endpoint`.
    explicit Resolver(const std::string& endpoint);

    // Readable when there is a result; -1: there is one already.
    [[nodiscard]] int fd() const;
    // Nothing: no result yet. Empty list: there are no addresses.
    [[nodiscard]] std::optional<std::vector<std::string>> take();

private:
    struct Shared;
    std::optional<std::vector<std::string>> addresses_;
    std::shared_ptr<Shared> shared_;
};

}  // namespace perfleet::zeromq
