#include "schemas/zeromq/connection.h"

#include <zmq.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

namespace perfleet::zeromq {
namespace {

using Event = Connection::Event;

constexpr int kSocketsMax = 4'096;  // three per connection
constexpr int kUnsentMax = 1;       // messages, in addition to the one being sent
constexpr int kLingerMs = 500;
// Effectively disables libzmq's reconnecting. With -1, or with ZMQ_IMMEDIATE, libzmq would drop messages that the
// server sent before it disconnected.
constexpr int kNeverMs = 1 << 30;
// Detects a vanished host after 15 s of silence, if no data is in flight to it.
constexpr int kProbeEverySeconds = 5;
constexpr int kProbes = 2;
constexpr std::size_t kCurveOverheadBytes = 33;  // per message: name, nonce, MAC and flags

constexpr int kWatched = ZMQ_EVENT_CONNECTED | ZMQ_EVENT_CLOSED | ZMQ_EVENT_DISCONNECTED |
                         ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                         ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;

Event protocol_event(std::uint32_t value) {
    switch (value) {
        case ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH: return Event::kOtherMechanism;
        case ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC: return Event::kOtherKey;
        default: return Event::kNotZmtp;
    }
}

Event event_of(std::uint16_t number, std::uint32_t value, bool is_ready) {
    switch (number) {
        case ZMQ_EVENT_CONNECTED: return Event::kConnected;
        case ZMQ_EVENT_CLOSED: return Event::kNobodyThere;
        case ZMQ_EVENT_HANDSHAKE_SUCCEEDED: return Event::kReady;
        case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH: return Event::kKeyRefused;
        case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL: return protocol_event(value);
        case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL: return Event::kHandshakeEnded;
        // If libzmq disconnects before the handshake ends, the peer speaks another protocol or sends too much.
        case ZMQ_EVENT_DISCONNECTED: return is_ready ? Event::kEnded : Event::kNotZmtp;
        default: return Event::kNone;
    }
}

}  // namespace

std::shared_ptr<void> shared_context() {
    static std::mutex mutex;
    static std::weak_ptr<void> shared;
    const std::scoped_lock lock{mutex};
    auto context = shared.lock();
    if (context == nullptr) {
        context = {zmq_ctx_new(), [](void* made) {
                       while (made != nullptr && zmq_ctx_term(made) != 0 && errno == EINTR) {
                       }
                   }};
        (void)zmq_ctx_set(context.get(), ZMQ_MAX_SOCKETS, kSocketsMax);
        shared = context;
    }
    return context;
}

class Connection::Socket {
public:
    Socket(void* context, int type) : socket_{zmq_socket(context, type)} {}
    ~Socket() {
        if (socket_ != nullptr) {
            zmq_close(socket_);
        }
    }
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;

    [[nodiscard]] void* get() const { return socket_; }
    template <class Value>
    bool set(int option, Value value) const {
        return zmq_setsockopt(socket_, option, &value, sizeof value) == 0;
    }
    bool set(int option, const std::string& text) const {
        return zmq_setsockopt(socket_, option, text.c_str(), text.size() + 1) == 0;
    }
    [[nodiscard]] int number(int option) const {
        int value = 0;
        std::size_t size = sizeof value;
        (void)zmq_getsockopt(socket_, option, &value, &size);
        return value;
    }

private:
    void* socket_;
};

class Connection::Message {
public:
    Message() { zmq_msg_init(&message_); }
    ~Message() { zmq_msg_close(&message_); }
    Message(const Message&) = delete;
    Message& operator=(const Message&) = delete;

    [[nodiscard]] bool receive(const Socket& from) { return zmq_msg_recv(&message_, from.get(), ZMQ_DONTWAIT) >= 0; }
    [[nodiscard]] std::span<const std::byte> bytes() {
        return {static_cast<const std::byte*>(zmq_msg_data(&message_)), zmq_msg_size(&message_)};
    }
    [[nodiscard]] bool has_more() const { return zmq_msg_more(&message_) != 0; }

private:
    zmq_msg_t message_;
};

struct Connection::Sockets {
    explicit Sockets(std::shared_ptr<void> shared)
        : context{std::move(shared)}, dealer{context.get(), ZMQ_DEALER}, monitor{context.get(), ZMQ_PAIR} {}
    ~Sockets() {
        // First: otherwise libzmq's thread would wait forever until an event is read.
        if (dealer.get() != nullptr) {
            (void)zmq_socket_monitor(dealer.get(), nullptr, 0);
        }
    }
    Sockets(const Sockets&) = delete;
    Sockets& operator=(const Sockets&) = delete;

    [[nodiscard]] bool connect(const std::string& address, const ConnectKeys* keys,
                               std::size_t message_size_bytes_max) {
        const std::string place =
            "inproc://monitor-of-" + std::to_string(reinterpret_cast<std::uintptr_t>(dealer.get()));
        return dealer.get() != nullptr && monitor.get() != nullptr && set(keys, message_size_bytes_max) &&
               dealer.set(ZMQ_IPV6, address.find('[') == address.npos ? 0 : 1) &&
               zmq_socket_monitor(dealer.get(), place.c_str(), kWatched) == 0 && monitor.set(ZMQ_LINGER, 0) &&
               zmq_connect(monitor.get(), place.c_str()) == 0 && zmq_connect(dealer.get(), address.c_str()) == 0;
    }
    [[nodiscard]] bool set(const ConnectKeys* keys, std::size_t message_size_bytes_max) const {
        // With a receive limit, a PING and a disconnect make libzmq abort with an assertion.
        return dealer.set(ZMQ_RCVHWM, 0) && dealer.set(ZMQ_SNDHWM, kUnsentMax) &&
               dealer.set(ZMQ_RECONNECT_IVL, kNeverMs) && dealer.set(ZMQ_LINGER, kLingerMs) &&
               dealer.set(ZMQ_TCP_KEEPALIVE, 1) && dealer.set(ZMQ_TCP_KEEPALIVE_IDLE, kProbeEverySeconds) &&
               dealer.set(ZMQ_TCP_KEEPALIVE_INTVL, kProbeEverySeconds) && dealer.set(ZMQ_TCP_KEEPALIVE_CNT, kProbes) &&
               dealer.set(ZMQ_MAXMSGSIZE, static_cast<std::int64_t>(message_size_bytes_max +
                                                                    (keys == nullptr ? 0 : kCurveOverheadBytes))) &&
               (keys == nullptr
                    // No ZAP handler runs; the domain keeps libzmq from accepting ZMTP 1 and 2, which have no
                    // handshake.
                    ? dealer.set(ZMQ_ZAP_DOMAIN, std::string{"gateway"})
                    : dealer.set(ZMQ_CURVE_SERVERKEY, encode_public_key(keys->server)) &&
                          dealer.set(ZMQ_CURVE_PUBLICKEY, keys->own.public_text) &&
                          dealer.set(ZMQ_CURVE_SECRETKEY, keys->own.secret_text));
    }

    std::shared_ptr<void> context;
    Socket dealer;
    Socket monitor;
    Message message;
    bool is_ready = false;
    bool was_refused = false;  // a send failed because the queue was full
};

Connection::Connection(std::unique_ptr<Sockets> sockets) : sockets_{std::move(sockets)} {}
Connection::~Connection() = default;

std::unique_ptr<Connection> Connection::open(const std::shared_ptr<void>& context, const std::string& address,
                                             const ConnectKeys* keys, std::size_t message_size_bytes_max) {
    auto sockets = std::make_unique<Sockets>(context);
    return sockets->connect(address, keys, message_size_bytes_max)
               ? std::unique_ptr<Connection>{new Connection{std::move(sockets)}}
               : nullptr;
}

Event Connection::next_event() {
    Message message;
    while (message.receive(sockets_->monitor)) {
        std::uint16_t number = 0;
        std::uint32_t value = 0;
        const auto bytes = message.bytes();
        if (bytes.size() != sizeof number + sizeof value) {
            continue;  // the frame with the address
        }
        std::memcpy(&number, bytes.data(), sizeof number);
        std::memcpy(&value, bytes.data() + sizeof number, sizeof value);
        const Event event = event_of(number, value, sockets_->is_ready);
        sockets_->is_ready |= event == Event::kReady;
        return event;
    }
    return Event::kNone;
}

bool Connection::send(std::span<const std::byte> message) {
    const int sent = zmq_send(sockets_->dealer.get(), message.data(), message.size(), ZMQ_DONTWAIT);
    sockets_->was_refused = sent < 0;
    return sent >= 0;
}

std::optional<Connection::Part> Connection::receive() {
    Message& message = sockets_->message;
    return message.receive(sockets_->dealer) ? std::optional{Part{message.bytes(), message.has_more()}} : std::nullopt;
}

bool Connection::can_go_on() const {
    return (sockets_->dealer.number(ZMQ_EVENTS) & (sockets_->was_refused ? ZMQ_POLLIN | ZMQ_POLLOUT : ZMQ_POLLIN)) != 0;
}

std::array<int, 2> Connection::fds() const {
    return {sockets_->dealer.number(ZMQ_FD), sockets_->monitor.number(ZMQ_FD)};
}

void Connection::forget_unsent() { (void)sockets_->dealer.set(ZMQ_LINGER, 0); }

std::optional<std::string> public_key_of(const std::string& secret_text) {
    constexpr std::size_t kTextSize = 40;
    std::array<char, kTextSize + 1> text{};
    return secret_text.size() == kTextSize && zmq_curve_public(text.data(), secret_text.c_str()) == 0
               ? std::optional<std::string>{text.data()}
               : std::nullopt;
}

}  // namespace perfleet::zeromq
