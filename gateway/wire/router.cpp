#include "gateway/wire/router.h"

#include <sys/socket.h>
#include <zmq.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "gateway/wire/endpoint.h"
#include "schemas/vocabulary/limits.h"

namespace perfleet {
namespace {

// Nothing is held back here: messages are taken as fast as they come (reception.h, which also says why).
constexpr int kNoReceiveLimit = 0;
// For one peer. Replies are small, and those that matter are repeated.
constexpr int kSendMessagesMax = 16;
constexpr std::int64_t kMessageSizeBytesMax = static_cast<std::int64_t>(limits::kBatchSizeBytesMax) + 4'096;

constexpr int kBacklog = 4'096;
constexpr int kHandshakeMs = 5'000;
// A peer that is gone without a word is noticed by TCP, and not by ZMTP's heartbeats: libzmq looks through the timers
// of all peers whenever one of them answers a beat.
constexpr int kKeepaliveIdleS = 10;
constexpr int kKeepaliveIntervalS = 5;
constexpr int kKeepaliveCount = 3;
constexpr int kUnacknowledgedMs = 25'000;
constexpr int kLingerMs = 500;

std::string what_zmq_says() { return zmq_strerror(zmq_errno()); }

Error bind_error(const std::string& endpoint) {
    const std::string what = "--listen " + endpoint + ": ";
    switch (zmq_errno()) {
        case EADDRINUSE:
            return Error{ErrorCode::kBusy,
                         what + "another program listens there; choose another port, or * for a free one"};
        case EADDRNOTAVAIL:
        case ENODEV:
        case EINVAL:
        case EPROTONOSUPPORT:
            return Error{ErrorCode::kUsage, what + what_zmq_says() + "; choose an address of this machine"};
        case EACCES:
        case EPERM:
            return Error{ErrorCode::kPermission, what + what_zmq_says() + "; choose a port above 1023 or another path"};
        default: return Error{ErrorCode::kIo, what + what_zmq_says()};
    }
}

}  // namespace

struct Router::Socket {
    void* socket = nullptr;
    zmq_msg_t routing_id{};
    zmq_msg_t frame{};

    Socket() {
        zmq_msg_init(&routing_id);
        zmq_msg_init(&frame);
    }
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;
    ~Socket() {
        zmq_msg_close(&routing_id);
        zmq_msg_close(&frame);
        if (socket != nullptr) {
            zmq_close(socket);
        }
    }

    [[nodiscard]] bool set_option(int option, int value) const {
        return zmq_setsockopt(socket, option, &value, sizeof value) == 0;
    }

    [[nodiscard]] bool set_options() const {
        return zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &kMessageSizeBytesMax, sizeof kMessageSizeBytesMax) == 0 &&
               set_option(ZMQ_RCVHWM, kNoReceiveLimit) && set_option(ZMQ_SNDHWM, kSendMessagesMax) &&
               set_option(ZMQ_BACKLOG, kBacklog) && set_option(ZMQ_HANDSHAKE_IVL, kHandshakeMs) &&
               set_option(ZMQ_TCP_KEEPALIVE, 1) && set_option(ZMQ_TCP_KEEPALIVE_IDLE, kKeepaliveIdleS) &&
               set_option(ZMQ_TCP_KEEPALIVE_INTVL, kKeepaliveIntervalS) &&
               set_option(ZMQ_TCP_KEEPALIVE_CNT, kKeepaliveCount) && set_option(ZMQ_TCP_MAXRT, kUnacknowledgedMs) &&
               set_option(ZMQ_LINGER, kLingerMs) &&
               // A peer that names itself and comes back takes its old place; without this its messages vanish
               // silently.
               set_option(ZMQ_ROUTER_HANDOVER, 1) &&
               // Tells us when a peer is gone.
               set_option(ZMQ_ROUTER_MANDATORY, 1);
    }

    // Reads what is left of a message whose first frames broke the format.
    void skip_rest() {
        while (zmq_msg_more(&frame) != 0 && zmq_msg_recv(&frame, socket, ZMQ_DONTWAIT) >= 0) {
        }
    }
};

Router::Router(std::unique_ptr<Socket> socket) : socket_{std::move(socket)} {}

Router::~Router() = default;

Result<std::unique_ptr<Router>> Router::bind(const std::vector<std::string>& endpoints, TransportContext& context) {
    if (endpoints.empty()) {
        return Error{ErrorCode::kUsage, "no endpoint to listen on; give --listen tcp://127.0.0.1:PORT"};
    }
    for (const std::string& endpoint : endpoints) {
        if (auto checked = check_listen_endpoint(endpoint); !checked) {
            return std::move(checked).error();
        }
    }
    auto socket = std::make_unique<Socket>();
    socket->socket = zmq_socket(context.native_handle(), ZMQ_ROUTER);
    if (socket->socket == nullptr || !socket->set_options()) {
        return Error{ErrorCode::kIo, "the gateway's socket: " + what_zmq_says()};
    }
    std::unique_ptr<Router> router{new Router{std::move(socket)}};
    for (const std::string& endpoint : endpoints) {
        // Only where it is asked for: it would show 127.0.0.1 as [::ffff:127.0.0.1].
        const bool is_ipv6 = endpoint.starts_with("tcp://[");
        if (!router->socket_->set_option(ZMQ_IPV6, is_ipv6 ? 1 : 0) ||
            zmq_bind(router->socket_->socket, endpoint.c_str()) != 0) {
            return bind_error(endpoint);
        }
        std::array<char, 256> bound{};
        std::size_t size = bound.size();
        if (zmq_getsockopt(router->socket_->socket, ZMQ_LAST_ENDPOINT, bound.data(), &size) != 0) {
            return bind_error(endpoint);
        }
        router->endpoints_.emplace_back(bound.data());
    }
    return router;
}

Router::Message Router::receive() {
    Socket& socket = *socket_;
    if (zmq_msg_recv(&socket.routing_id, socket.socket, ZMQ_DONTWAIT) < 0) {
        return {};
    }
    Message message{Message::Sort::kMalformed,
                    {static_cast<const char*>(zmq_msg_data(&socket.routing_id)), zmq_msg_size(&socket.routing_id)},
                    {}};
    if (zmq_msg_more(&socket.routing_id) == 0 || zmq_msg_recv(&socket.frame, socket.socket, ZMQ_DONTWAIT) < 0) {
        return message;
    }
    if (zmq_msg_more(&socket.frame) != 0) {
        socket.skip_rest();
        return message;
    }
    message.sort = Message::Sort::kFrame;
    message.frame = {static_cast<const std::byte*>(zmq_msg_data(&socket.frame)), zmq_msg_size(&socket.frame)};
    return message;
}

void Router::cut() {
    // libzmq has no way to say it; it closes what was shut down.
    if (const int descriptor = zmq_msg_get(&socket_->frame, ZMQ_SRCFD); descriptor >= 0) {
        shutdown(descriptor, SHUT_RDWR);
    }
}

Router::Sent Router::send(std::string_view routing_id, std::span<const std::byte> frame) {
    const int id_sent = zmq_send(socket_->socket, routing_id.data(), routing_id.size(), ZMQ_SNDMORE | ZMQ_DONTWAIT);
    if (id_sent < 0) {
        return zmq_errno() == EAGAIN ? Sent::kFull : Sent::kPeerGone;
    }
    // A failure here leaves the message to libzmq, which drops it whole.
    return zmq_send(socket_->socket, frame.data(), frame.size(), ZMQ_DONTWAIT) < 0 ? Sent::kFull : Sent::kDone;
}

void Router::wait(int wake_fd, std::uint64_t timeout_ns) {
    std::array<zmq_pollitem_t, 2> items{};
    items[0].socket = socket_->socket;
    items[0].events = ZMQ_POLLIN;
    items[1].fd = wake_fd;
    items[1].events = ZMQ_POLLIN;
    constexpr std::uint64_t kNsPerMs = 1'000'000;
    constexpr std::uint64_t kTimeoutMsMax = 60'000;
    const auto timeout_ms = static_cast<long>(std::min((timeout_ns + kNsPerMs - 1) / kNsPerMs, kTimeoutMsMax));
    zmq_poll(items.data(), wake_fd < 0 ? 1 : 2, timeout_ms);
}

}  // namespace perfleet
