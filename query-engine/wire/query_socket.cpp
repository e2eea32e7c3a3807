#include "query-engine/wire/query_socket.h"

#include <zmq.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "query-engine/query_limits.h"
#include "query-engine/wire/query_message.h"
#include "schemas/peers/zap.h"
#include "schemas/vocabulary/assert.h"
#include "schemas/vocabulary/endpoint.h"

namespace perfleet {
namespace {

// Messages that ZeroMQ holds for one peer. What queries send is bounded by their credit and by what is said each
// second.
constexpr int kMessagesMax = static_cast<int>(limits::kQueriesAtOnceMax * (limits::kQueryChunksAheadMax + 4));
constexpr int kHandshakeMs = 5'000;
constexpr int kHeartbeatIntervalMs = 2'000;
constexpr int kHeartbeatTimeoutMs = 8'000;
constexpr int kLingerMs = 500;

// Of an endpoint. Far more than people who ask, and far below any limit of descriptors.
constexpr std::size_t kConnectionsMax = 256;
constexpr std::uint64_t kFirstWordNs = 60'000'000'000;
constexpr std::size_t kUnfinishedSizeBytesMax = 16 * kQueryRequestSizeBytesMax;
constexpr long kLookEveryMs = static_cast<long>(QueryGuard::kLookEveryNs / 1'000'000);

Error socket_error(const std::string& endpoint) {
    const std::string what = endpoint + ": " + zmq_strerror(zmq_errno());
    switch (zmq_errno()) {
        case EADDRINUSE: return Error{ErrorCode::kBusy, what + "; choose another port, or * for a free one"};
        case EADDRNOTAVAIL:
        case ENODEV:
        case EINVAL:
        case ENOCOMPATPROTO:
        case EPROTONOSUPPORT: return Error{ErrorCode::kUsage, what + "; write tcp://ADDRESS:PORT"};
        case EACCES:
        case EPERM: return Error{ErrorCode::kPermission, what + "; choose a port above 1023"};
        default: return Error{ErrorCode::kIo, what};
    }
}

}  // namespace

QuerySocket::~QuerySocket() {
    guard_.reset();
    if (socket_ != nullptr) {
        zmq_close(socket_);
    }
    if (context_ != nullptr) {
        zmq_ctx_term(context_);
    }
}

Result<std::unique_ptr<QuerySocket>> QuerySocket::make(int type, std::size_t message_size_bytes_max) {
    std::unique_ptr<QuerySocket> made{new QuerySocket};
    made->context_ = zmq_ctx_new();
    PERFLEET_ASSERT(made->context_ != nullptr);
    made->socket_ = zmq_socket(made->context_, type);
    if (made->socket_ == nullptr) {
        return socket_error("query socket");
    }
    made->is_router_ = type == ZMQ_ROUTER;
    const auto set = [&](int option, int value) {
        PERFLEET_ASSERT(zmq_setsockopt(made->socket_, option, &value, sizeof value) == 0);
    };
    const auto size_max = static_cast<std::int64_t>(message_size_bytes_max);
    PERFLEET_ASSERT(zmq_setsockopt(made->socket_, ZMQ_MAXMSGSIZE, &size_max, sizeof size_max) == 0);
    set(ZMQ_SNDHWM, kMessagesMax);
    set(ZMQ_RCVHWM, kMessagesMax);
    set(ZMQ_LINGER, kLingerMs);
    set(ZMQ_HANDSHAKE_IVL, kHandshakeMs);
    set(ZMQ_HEARTBEAT_IVL, kHeartbeatIntervalMs);
    set(ZMQ_HEARTBEAT_TIMEOUT, kHeartbeatTimeoutMs);
    if (made->is_router_) {
        set(ZMQ_ROUTER_MANDATORY, 1);
    }
    return made;
}

bool QuerySocket::set_text(int option, const std::string& text) {
    return zmq_setsockopt(socket_, option, text.c_str(), text.size() + 1) == 0;
}

Result<Done> QuerySocket::guard_with(const QueryServerKeys* keys) {
    std::unique_ptr<KeyFolder> allowed;
    if (keys != nullptr) {
        const Result<SecretKey> key = load_secret_key(keys->key_file);
        if (!key.ok()) {
            return Error{key.error().code, "--key " + key.error().message};
        }
        const int on = 1;
        if (zmq_setsockopt(socket_, ZMQ_CURVE_SERVER, &on, sizeof on) != 0 ||
            zmq_setsockopt(socket_, ZMQ_ZAP_DOMAIN, kZapDomain, std::strlen(kZapDomain)) != 0 ||
            !set_text(ZMQ_CURVE_SECRETKEY, key->secret_text)) {
            return socket_error("--key " + keys->key_file);
        }
        const auto notice = keys->notice ? keys->notice : [](std::string_view) {};
        Result<std::unique_ptr<KeyFolder>> folder = KeyFolder::open("--query-clients", keys->askers_folder, notice);
        if (!folder.ok()) {
            return std::move(folder).error();
        }
        allowed = std::move(folder).value();
    }
    ConnectionTable::Limits limits;
    limits.connections_max = kConnectionsMax;
    limits.unheard_max = kConnectionsMax / 2;
    limits.first_word_ns = kFirstWordNs;
    limits.unfinished_size_bytes_max = kUnfinishedSizeBytesMax;
    Result<std::unique_ptr<QueryGuard>> guard = QueryGuard::open(context_, socket_, std::move(allowed), limits);
    if (!guard.ok()) {
        return std::move(guard).error();
    }
    guard_ = std::move(guard).value();
    return Done{};
}

Result<std::unique_ptr<QuerySocket>> QuerySocket::bind(const std::string& endpoint, const QueryServerKeys* keys) {
    Result<std::unique_ptr<QuerySocket>> made = make(ZMQ_ROUTER, kQueryRequestSizeBytesMax);
    if (!made.ok()) {
        return made;
    }
    QuerySocket& socket = **made;
    if (Result<Done> guarded = socket.guard_with(keys); !guarded.ok()) {
        return std::move(guarded).error();
    }
    const int is_ipv6 = endpoint.starts_with("tcp://[") ? 1 : 0;
    std::array<char, 512> bound{};
    std::size_t size = bound.size();
    if (zmq_setsockopt(socket.socket_, ZMQ_IPV6, &is_ipv6, sizeof is_ipv6) != 0 ||
        zmq_bind(socket.socket_, endpoint.c_str()) != 0 ||
        zmq_getsockopt(socket.socket_, ZMQ_LAST_ENDPOINT, bound.data(), &size) != 0) {
        return socket_error("--listen " + endpoint);
    }
    socket.endpoint_ = bound.data();
    return made;
}

Result<std::unique_ptr<QuerySocket>> QuerySocket::connect(const std::string& endpoint, const ConnectKeys* keys) {
    if (const auto checked = check_peer_endpoint("--gateway", endpoint); !checked.ok()) {
        return checked.error();
    }
    Result<std::unique_ptr<QuerySocket>> made = make(ZMQ_DEALER, kQueryReplySizeBytesMax);
    if (!made.ok()) {
        return made;
    }
    QuerySocket& socket = **made;
    if (keys != nullptr && (!socket.set_text(ZMQ_CURVE_SERVERKEY, encode_public_key(keys->server)) ||
                            !socket.set_text(ZMQ_CURVE_PUBLICKEY, keys->own.public_text) ||
                            !socket.set_text(ZMQ_CURVE_SECRETKEY, keys->own.secret_text))) {
        return Error{ErrorCode::kInvalid, "--key of '" + keys->own.name + "': " + zmq_strerror(zmq_errno())};
    }
    const int is_ipv6 = endpoint.find('[') != std::string::npos ? 1 : 0;
    if (zmq_setsockopt(socket.socket_, ZMQ_IPV6, &is_ipv6, sizeof is_ipv6) != 0 ||
        zmq_connect(socket.socket_, endpoint.c_str()) != 0) {
        return socket_error("--gateway " + endpoint);
    }
    socket.endpoint_ = endpoint;
    return made;
}

QuerySocket::Ready QuerySocket::wait(const std::array<int, 2>& descriptors, long timeout_ms) {
    std::array<zmq_pollitem_t, 5> items{};
    std::size_t count = 0;
    items[count++] = {socket_, 0, ZMQ_POLLIN, 0};
    for (const int descriptor : descriptors) {
        if (descriptor >= 0) {
            items[count++] = {nullptr, descriptor, ZMQ_POLLIN, 0};
        }
    }
    if (guard_ != nullptr) {
        for (void* const socket : {guard_->events(), guard_->questions()}) {
            if (socket != nullptr) {
                items[count++] = {socket, 0, ZMQ_POLLIN, 0};
            }
        }
        timeout_ms = std::min(timeout_ms, kLookEveryMs);
    }
    Ready ready;
    const int ready_count = zmq_poll(items.data(), static_cast<int>(count), timeout_ms);
    if (guard_ != nullptr) {
        guard_->look_after();
    }
    if (ready_count <= 0) {
        return ready;
    }
    ready.socket = items[0].revents != 0;
    std::size_t item = 1;
    for (std::size_t i = 0; i < descriptors.size(); ++i) {
        if (descriptors[i] >= 0) {
            ready.descriptors[i] = items[item++].revents != 0;
        }
    }
    return ready;
}

std::optional<QuerySocket::Received> QuerySocket::receive() {
    Received received;
    std::size_t frame_count = 0;
    bool has_more = true;
    bool may_ask = true;
    while (has_more) {
        zmq_msg_t message;
        zmq_msg_init(&message);
        if (zmq_msg_recv(&message, socket_, ZMQ_DONTWAIT) < 0) {
            zmq_msg_close(&message);
            return std::nullopt;
        }
        std::string bytes{static_cast<const char*>(zmq_msg_data(&message)), zmq_msg_size(&message)};
        may_ask = may_ask && (guard_ == nullptr || frame_count == 0 || guard_->may_ask(&message));
        if (guard_ != nullptr && frame_count > 0) {
            received.connection = guard_->connection_of(&message);
        }
        has_more = zmq_msg_more(&message) != 0;
        zmq_msg_close(&message);
        if (is_router_ && frame_count == 0) {
            received.peer = std::move(bytes);
        } else {
            received.bytes_untrusted = std::move(bytes);
        }
        ++frame_count;
    }
    if (!may_ask) {
        return std::nullopt;  // the next call, after the next wait, sees what else is there
    }
    if (frame_count != (is_router_ ? 2 : 1)) {
        received.bytes_untrusted.clear();
    }
    return received;
}

bool QuerySocket::send(const std::string& peer, const std::string& message) {
    if (is_router_ && zmq_send(socket_, peer.data(), peer.size(), ZMQ_DONTWAIT | ZMQ_SNDMORE) < 0) {
        return false;
    }
    return zmq_send(socket_, message.data(), message.size(), ZMQ_DONTWAIT) >= 0;
}

}  // namespace perfleet
