// The gateway's socket: a libzmq ROUTER. It carries frames and knows nothing of their meaning. The only place of the
// gateway (with context.cpp) that knows ZeroMQ.
//
// One thread. Bounded: replies that wait for a peer, the size of a message, the time of a handshake and of closing; not
// what has come in, so its user must take it as fast as it comes. What a peer sends that isn't one frame is left out
// and reported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/wire/context.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

class Router {
public:
    // What came in. Borrowed until the next receive().
    struct Message {
        enum class Sort : std::uint8_t { kNothing, kFrame, kMalformed };
        Sort sort = Sort::kNothing;
        std::string_view routing_id;
        std::span<const std::byte> frame;
    };

    enum class Sent : std::uint8_t {
        kDone,      // handed to libzmq, which may still lose it
        kPeerGone,  // nobody has this routing id any more
        kFull,      // the peer doesn't read; dropped
    };

    // Binds to all endpoints. `context` is borrowed. Errors: kUsage (not an endpoint, a remote one, not an address of
    // this machine), kBusy (address in use), kPermission, kIo.
    [[nodiscard]] static Result<std::unique_ptr<Router>> bind(const std::vector<std::string>& endpoints,
                                                              TransportContext& context);
    ~Router();
    Router(const Router&) = delete;
    Router& operator=(const Router&) = delete;

    // Those really bound, with the port.
    [[nodiscard]] const std::vector<std::string>& endpoints() const { return endpoints_; }

    // The next message that is there now.
    [[nodiscard]] Message receive();

    // Ends the connection that the last message came over.
    void cut();

    // Never waits. The frame is copied.
    Sent send(std::string_view routing_id, std::span<const std::byte> frame);

    // Until a message is there, `wake_fd` is readable (-1: none), or the time is over.
    void wait(int wake_fd, std::uint64_t timeout_ns);

private:
    struct Socket;
    explicit Router(std::unique_ptr<Socket> socket);

    std::unique_ptr<Socket> socket_;
    std::vector<std::string> endpoints_;
};

}  // namespace perfleet
