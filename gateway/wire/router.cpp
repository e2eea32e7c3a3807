#include "gateway/wire/router.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "gateway/wire/endpoint.h"
#include "gateway/wire/peer_guard.h"
#include "schemas/peers/connection_table.h"
#include "schemas/peers/local_socket.h"
#include "schemas/peers/zap.h"
#include "schemas/vocabulary/limits.h"

namespace perfleet {
namespace {

// Nothing is held back here: messages are taken as fast as they come (reception.h, which also says why).
constexpr int kNoReceiveLimit = 0;
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

// Of connections that haven't said anything yet; each costs libzmq some 20 KB.
constexpr std::size_t kUnheardMax = 4'096;

std::size_t default_connections_max() {
    rlimit limit{};
    const bool is_known = getrlimit(RLIMIT_NOFILE, &limit) == 0;
    return connections_for(is_known ? static_cast<std::size_t>(limit.rlim_cur) : 1'024);
}

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
    std::unique_ptr<PeerGuard> guard;  // null: only this process comes in
    std::optional<LocalSocket> local;  // that is listened to
    zmq_msg_t routing_id{};
    zmq_msg_t frame{};

    Socket() {
        zmq_msg_init(&routing_id);
        zmq_msg_init(&frame);
    }
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;
    ~Socket() {
        if (local.has_value()) {
            local->remove();
        }
        zmq_msg_close(&routing_id);
        zmq_msg_close(&frame);
        if (guard != nullptr) {
            guard->stop();
        }
        if (socket != nullptr) {
            zmq_close(socket);
        }
    }

    [[nodiscard]] bool set_option(int option, int value) const {
        return zmq_setsockopt(socket, option, &value, sizeof value) == 0;
    }

    [[nodiscard]] bool set_options() const {
        return zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &kMessageSizeBytesMax, sizeof kMessageSizeBytesMax) == 0 &&
               set_option(ZMQ_RCVHWM, kNoReceiveLimit) && set_option(ZMQ_SNDHWM, kRepliesWaitingMax) &&
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

    // From now on peers have to show a key. Errors: kInvalid (not a pair of keys), kIo.
    [[nodiscard]] Result<Done> set_key(const SecretKey& key, const std::string& key_file) const {
        std::array<char, kCurveKeyTextSize + 1> public_text{};
        if (zmq_curve_public(public_text.data(), key.secret_text.c_str()) != 0 ||
            key.public_text != public_text.data()) {
            return Error{ErrorCode::kInvalid,
                         key_file + ": its public-key isn't that of its secret-key; make a new one: perfleet keygen"};
        }
        // A peer can't take another's routing id: those who choose one are refused. Where nobody answers for keys,
        // libzmq lets everybody in; receive() then still refuses messages without a user.
        if (!set_option(ZMQ_CURVE_SERVER, 1) || !set_option(ZMQ_ROUTER_HANDOVER, 0) ||
            zmq_setsockopt(socket, ZMQ_ZAP_DOMAIN, kZapDomain, std::char_traits<char>::length(kZapDomain)) != 0 ||
            zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, key.secret_text.c_str(), key.secret_text.size() + 1) != 0) {
            return Error{ErrorCode::kIo, "the gateway's key: " + what_zmq_says()};
        }
        return Done{};
    }

    // Reads what is left of a message whose first frames broke the format.
    void skip_rest() {
        while (zmq_msg_more(&frame) != 0 && zmq_msg_recv(&frame, socket, ZMQ_DONTWAIT) >= 0) {
        }
    }
};

Router::Router(std::unique_ptr<Socket> socket) : socket_{std::move(socket)} {}

Router::~Router() = default;

Result<std::unique_ptr<Router>> Router::bind(const RouterOptions& options, TransportContext& context) {
    const bool has_keys = !options.key_file.empty();
    if (has_keys == options.collectors_folder.empty()) {
        return Error{ErrorCode::kUsage,
                     "--key FILE and --collectors DIR go together: the gateway's own secret key, and the folder of the "
                     "public keys that may come in"};
    }
    if (options.endpoints.empty() && options.folder.empty()) {
        return Error{ErrorCode::kUsage, "no endpoint to listen on; give --listen tcp://127.0.0.1:PORT"};
    }
    bool is_open_to_others = !options.folder.empty();
    for (const std::string& endpoint : options.endpoints) {
        if (auto checked = check_listen_endpoint(endpoint, has_keys); !checked) {
            return std::move(checked).error();
        }
        is_open_to_others = is_open_to_others || !endpoint.starts_with("inproc://");
    }
    auto socket = std::make_unique<Socket>();
    socket->socket = zmq_socket(context.native_handle(), ZMQ_ROUTER);
    if (socket->socket == nullptr || !socket->set_options()) {
        return Error{ErrorCode::kIo, "the gateway's socket: " + what_zmq_says()};
    }
    std::unique_ptr<KeyFolder> allowed;
    SecretKey own_key;
    if (has_keys) {
        auto key = load_secret_key(options.key_file);
        if (!key) {
            return Error{key.error().code, "--key " + key.error().message};
        }
        own_key = std::move(*key);
        auto folder = KeyFolder::open("--collectors", options.collectors_folder, options.notice);
        if (!folder) {
            return std::move(folder).error();
        }
        allowed = std::move(*folder);
    }
    if (is_open_to_others) {
        ConnectionTable::Limits limits;
        limits.connections_max = options.connections_max != 0
                                     ? options.connections_max
                                     : std::min(default_connections_max(), options.connections_default_max);
        limits.unheard_max = std::clamp<std::size_t>(limits.connections_max / 2, 1, kUnheardMax);
        limits.resident_size_bytes_max = options.resident_size_bytes_max;
        limits.renew_above = options.renew_connections_above;
        auto guard = PeerGuard::open(context.native_handle(), std::move(allowed), limits, options.notice);
        if (!guard) {
            return std::move(guard).error();
        }
        socket->guard = std::move(*guard);
        if (auto started = socket->guard->start(socket->socket); !started) {
            return std::move(started).error();
        }
    }
    std::unique_ptr<Router> router{new Router{std::move(socket)}};
    router->has_keys_ = has_keys;
    // A listener keeps the security that was set before it was bound.
    if (!options.folder.empty()) {
        if (auto bound = router->bind_in(options.folder); !bound) {
            if (options.endpoints.empty()) {
                return std::move(bound).error();
            }
            options.notice("nobody can record into the folder while it is written to: " + bound.error().message);
        }
    }
    if (has_keys) {
        if (auto set = router->socket_->set_key(own_key, options.key_file); !set) {
            return std::move(set).error();
        }
    }
    for (const std::string& endpoint : options.endpoints) {
        if (auto bound = router->bind_to(endpoint); !bound) {
            return std::move(bound).error();
        }
    }
    return router;
}

Result<Done> Router::bind_to(const std::string& endpoint) {
    // Only where it is asked for: it would show 127.0.0.1 as [::ffff:127.0.0.1].
    const bool is_ipv6 = endpoint.starts_with("tcp://[");
    if (!socket_->set_option(ZMQ_IPV6, is_ipv6 ? 1 : 0) || zmq_bind(socket_->socket, endpoint.c_str()) != 0) {
        return bind_error(endpoint);
    }
    std::array<char, 256> bound{};
    std::size_t size = bound.size();
    if (zmq_getsockopt(socket_->socket, ZMQ_LAST_ENDPOINT, bound.data(), &size) != 0) {
        return bind_error(endpoint);
    }
    endpoints_.emplace_back(bound.data());
    return Done{};
}

// libzmq listens at the descriptor that it is given: it would make a file that everybody may connect to at first.
Result<Done> Router::bind_in(const std::string& folder) {
    auto local = LocalSocket::in(folder, kGatewaySocketName);
    if (!local.ok()) {
        return std::move(local).error();
    }
    const auto descriptor = local->bind(SOCK_STREAM | SOCK_NONBLOCK);
    if (!descriptor.ok()) {
        return Error{descriptor.error()};
    }
    if (listen(*descriptor, kBacklog) != 0 || !socket_->set_option(ZMQ_USE_FD, *descriptor) ||
        zmq_bind(socket_->socket, local->endpoint().c_str()) != 0) {
        Error error{ErrorCode::kIo, folder + "/" + std::string{kGatewaySocketName} + ": " + what_zmq_says()};
        close(*descriptor);
        return error;
    }
    socket_->local.emplace(std::move(*local));
    return socket_->set_option(ZMQ_USE_FD, -1) ? Result<Done>{Done{}} : Error{ErrorCode::kIo, what_zmq_says()};
}

Router::Message Router::receive() {
    Socket& socket = *socket_;
    if (zmq_msg_recv(&socket.routing_id, socket.socket, ZMQ_DONTWAIT) < 0) {
        if (socket.guard != nullptr) {
            socket.guard->connections().drained();
        }
        return {};
    }
    Message message{Message::Sort::kMalformed,
                    {static_cast<const char*>(zmq_msg_data(&socket.routing_id)), zmq_msg_size(&socket.routing_id)},
                    {},
                    nullptr,
                    {}};
    if (zmq_msg_more(&socket.routing_id) == 0 || zmq_msg_recv(&socket.frame, socket.socket, ZMQ_DONTWAIT) < 0) {
        return message;
    }
    const bool may_speak = identify(message);
    const bool is_one_frame = zmq_msg_more(&socket.frame) == 0;
    if (!is_one_frame) {
        socket.skip_rest();
    }
    if (!may_speak) {
        message.sort = Message::Sort::kRefused;
    } else if (is_one_frame) {
        message.sort = Message::Sort::kFrame;
        message.frame = {static_cast<const std::byte*>(zmq_msg_data(&socket.frame)), zmq_msg_size(&socket.frame)};
    }
    return message;
}

void Router::cut(const ConnectionName& connection) {
    if (socket_->guard != nullptr) {
        socket_->guard->connections().cut(connection);
    }
}

// Whose message the frame is. False: of somebody who may not speak.
bool Router::identify(Message& message) {
    const zmq_msg_t* const frame = &socket_->frame;
    if (socket_->guard == nullptr) {
        return true;
    }
    ConnectionTable& connections = socket_->guard->connections();
    const int descriptor = zmq_msg_get(frame, ZMQ_SRCFD);
    message.connection = connections.name_of(descriptor);
    const char* const user = zmq_msg_gets(frame, kZapUserId);
    message.is_local = user == nullptr && socket_->local.has_value() && socket_->local->has_accepted(descriptor);
    if (!has_keys_ || message.is_local) {
        // Whatever else it says of itself is what the peer itself made up.
        connections.heard(descriptor, zmq_msg_size(frame));
        return true;
    }
    const char* const own_name = zmq_msg_gets(frame, "Identity");
    if (own_name != nullptr && *own_name != '\0') {
        connections.refuse_routing_id(descriptor);
        return false;
    }
    const auto key = decode_public_key(user == nullptr ? "" : user);
    message.peer = key.has_value() ? connections.heard(descriptor, *key, zmq_msg_size(frame)) : nullptr;
    return message.peer != nullptr;
}

TransportCounts Router::counts() const {
    return socket_->guard == nullptr ? TransportCounts{} : socket_->guard->connections().counts();
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
