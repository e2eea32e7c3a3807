// The gateway's socket: a libzmq ROUTER. It carries frames and knows nothing of their meaning. The only place of the
// gateway (with context.cpp and peer_guard.cpp) that knows ZeroMQ.
//
// One thread. Bounded: connections, replies that wait for a peer, the size of a message, the time of a handshake and of
// closing; not what has come in, so its user must take it as fast as it comes. What a peer sends that isn't one frame
// is left out and reported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/wire/context.h"
#include "schemas/peers/connection_table.h"
#include "schemas/peers/key_folder.h"
#include "schemas/peers/transport_counts.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

struct RouterOptions {
    std::vector<std::string> endpoints;
    // The store's folder: its user's processes on this machine come in through kGatewaySocketName there, without keys
    // whatever the endpoints ask for, and are who they say. Whoever binds has the store for itself. Empty: nobody does.
    std::string folder;
    // Both or none: with keys all peers speak CURVE and are known by it.
    std::string key_file;
    std::string collectors_folder;
    std::size_t connections_max = 0;                        // 0: connections_for() the process's limit of descriptors
    std::size_t connections_default_max = ~std::size_t{0};  // not more unless connections_max says so
    std::size_t resident_size_bytes_max = ~std::size_t{0};  // connection_table.h
    std::size_t renew_connections_above = ~std::size_t{0};  // connection_table.h
    std::function<void(std::string_view)> notice;           // called on any thread
};

class Router {
public:
    // What came in. Borrowed until the next receive().
    struct Message {
        enum class Sort : std::uint8_t {
            kNothing,
            kFrame,
            kMalformed,  // not one frame
            kRefused,    // of a peer that may not speak any more
        };
        Sort sort = Sort::kNothing;
        std::string_view routing_id;
        std::span<const std::byte> frame;
        KeySet::Entry peer;  // who sent it, by its key; null where there are no keys, and over the folder's socket
        ConnectionName connection;
        bool is_local = false;  // it came over the folder's socket
    };

    enum class Sent : std::uint8_t {
        kDone,      // handed to libzmq, which may still lose it
        kPeerGone,  // nobody has this routing id any more
        kFull,      // the peer doesn't read; dropped
    };

    // Replies that wait for one peer; what comes beyond them is kFull. They are small, and those that matter are
    // repeated.
    static constexpr int kRepliesWaitingMax = 16;

    // Binds to all endpoints. `context` is borrowed. A folder that takes no socket is reported, and an error only where
    // there is no endpoint. Errors: kUsage (not an endpoint, a remote one without keys, not an
    // address of this machine), kBusy (address in use), kPermission (also of key files), kIo, and those of reading
    // keys.
    [[nodiscard]] static Result<std::unique_ptr<Router>> bind(const RouterOptions& options, TransportContext& context);
    ~Router();
    Router(const Router&) = delete;
    Router& operator=(const Router&) = delete;

    // Those really bound, with the port.
    [[nodiscard]] const std::vector<std::string>& endpoints() const { return endpoints_; }

    // The next message that is there now.
    [[nodiscard]] Message receive();

    // Ends this connection. From any thread.
    void cut(const ConnectionName& connection);

    // Never waits. The frame is copied.
    Sent send(std::string_view routing_id, std::span<const std::byte> frame);

    // Until a message is there, `wake_fd` is readable (-1: none), or the time is over.
    void wait(int wake_fd, std::uint64_t timeout_ns);

    // From any thread.
    [[nodiscard]] TransportCounts counts() const;

private:
    struct Socket;
    explicit Router(std::unique_ptr<Socket> socket);
    [[nodiscard]] Result<Done> bind_to(const std::string& endpoint);
    [[nodiscard]] Result<Done> bind_in(const std::string& folder);
    [[nodiscard]] bool identify(Message& message);

    std::unique_ptr<Socket> socket_;
    std::vector<std::string> endpoints_;
    bool has_keys_ = false;
};

}  // namespace perfleet
