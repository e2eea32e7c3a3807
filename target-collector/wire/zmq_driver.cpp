#include "target-collector/wire/zmq_driver.h"

#include <zmq.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include "schemas/vocabulary/endpoint.h"
#include "schemas/wire/delivery_limits.h"

namespace perfleet {
namespace {

using Clock = std::chrono::steady_clock;

Error zmq_error(ErrorCode code, const std::string& what) {
    return Error{code, what + ": " + zmq_strerror(zmq_errno())};
}

// libzmq gives an endpoint up whose handshake failed; it is tried again after this.
constexpr std::chrono::seconds kTryAgainAfter{1};

constexpr int kHandshakeFailures =
    ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;

struct ConnectionEvent {
    std::uint16_t number = 0;  // 0: none there
    std::uint32_t value = 0;
};

// An event is two frames: u16 number with a u32 value, and the endpoint.
ConnectionEvent next_event(void* monitor) {
    ConnectionEvent event;
    std::array<char, sizeof event.number + sizeof event.value> bytes{};
    if (zmq_recv(monitor, bytes.data(), bytes.size(), ZMQ_DONTWAIT) < 0) {
        return event;
    }
    std::memcpy(&event.number, bytes.data(), sizeof event.number);
    std::memcpy(&event.value, bytes.data() + sizeof event.number, sizeof event.value);
    std::array<char, 1> endpoint{};
    zmq_recv(monitor, endpoint.data(), endpoint.size(), ZMQ_DONTWAIT);
    return event;
}

std::string trouble_of(const ConnectionEvent& event, const std::string& key_name) {
    const bool has_key = !key_name.empty();
    if (event.number == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) {
        return "it refuses this key; is " + key_name + ".pub in its folder of public keys?";
    }
    if (event.number == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL &&
        event.value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH) {
        return has_key ? "it knows no keys; leave --key and --gateway-key out, or give it keys"
                       : "it asks for a key; give --key and --gateway-key";
    }
    if (event.number == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL) {
        return "it doesn't speak ZeroMQ as it should";
    }
    return has_key ? "it ends the handshake; is --gateway-key really its key?"
                   : "it ends the handshake; if it asks for a key, give --key and --gateway-key";
}

bool set_option(void* socket, int option, int value) {
    return zmq_setsockopt(socket, option, &value, sizeof value) == 0;
}

}  // namespace

struct ZmqDriver::Sockets {
    void* own_context = nullptr;  // null: shared
    void* socket = nullptr;
    void* monitor = nullptr;  // null: inproc, which has no events
    std::string monitor_endpoint;
    bool is_connected = false;
    bool was_made = false;  // a connection, since reconnected() was asked
    std::string endpoint;
    std::string key_name;  // empty: no key
    std::string trouble;
    std::optional<Clock::time_point> try_again_at;

    void take_events() {
        ConnectionEvent event;
        while (monitor != nullptr && (event = next_event(monitor)).number != 0) {
            is_connected = event.number == ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
            was_made = was_made || is_connected;
            if (is_connected) {
                trouble.clear();
                try_again_at.reset();
            } else if ((event.number & kHandshakeFailures) != 0) {
                trouble = trouble_of(event, key_name);
                try_again_at = Clock::now() + kTryAgainAfter;
            }
        }
        if (try_again_at.has_value() && Clock::now() >= *try_again_at) {
            try_again_at.reset();
            zmq_disconnect(socket, endpoint.c_str());
            zmq_connect(socket, endpoint.c_str());
        }
    }

    [[nodiscard]] Result<Done> set_keys(const ConnectKeys& keys) {
        const std::string server = encode_public_key(keys.server);
        const auto set = [&](int option, const std::string& text) {
            return zmq_setsockopt(socket, option, text.c_str(), text.size() + 1) == 0;
        };
        key_name = keys.own.name;
        if (!set(ZMQ_CURVE_SERVERKEY, server) || !set(ZMQ_CURVE_PUBLICKEY, keys.own.public_text) ||
            !set(ZMQ_CURVE_SECRETKEY, keys.own.secret_text)) {
            return Error{ErrorCode::kInvalid, "the key of '" + key_name + "': " + zmq_strerror(zmq_errno())};
        }
        return Done{};
    }

    Sockets() = default;
    Sockets(const Sockets&) = delete;
    Sockets& operator=(const Sockets&) = delete;
    ~Sockets() {
        if (monitor != nullptr) {
            zmq_socket_monitor(socket, nullptr, 0);
            zmq_close(monitor);
        }
        if (socket != nullptr) {
            zmq_close(socket);
        }
        if (own_context != nullptr) {
            zmq_ctx_term(own_context);
        }
    }
};

Result<std::unique_ptr<ZmqDriver>> ZmqDriver::connect(const std::string& endpoint, void* shared_context,
                                                      const ConnectKeys* keys) {
    const bool is_inproc = endpoint.starts_with("inproc://");
    if (is_inproc && shared_context == nullptr) {
        return Error{ErrorCode::kUsage, "gateway '" + endpoint + "': inproc:// reaches only gateways of this process"};
    }
    if (!is_inproc) {
        if (const auto checked = check_peer_endpoint("--gateway", endpoint); !checked.ok()) {
            return checked.error();
        }
    }
    auto sockets = std::make_unique<Sockets>();
    void* context = shared_context;
    if (context == nullptr) {
        context = sockets->own_context = zmq_ctx_new();
        if (context == nullptr) {
            return zmq_error(ErrorCode::kIo, "zmq_ctx_new");
        }
    }
    sockets->socket = zmq_socket(context, ZMQ_DEALER);
    if (sockets->socket == nullptr) {
        return zmq_error(ErrorCode::kIo, "zmq_socket");
    }
    void* const socket = sockets->socket;
    const bool is_local = endpoint.starts_with("ipc://");
    // Queues nothing for a peer that isn't there: the spool keeps it, and the count stays right.
    const bool is_set =
        set_option(socket, ZMQ_LINGER, 0) && set_option(socket, ZMQ_IMMEDIATE, 1) &&
        set_option(socket, ZMQ_SNDHWM, static_cast<int>(limits::kSendWindowBatches)) &&
        set_option(socket, ZMQ_RECONNECT_IVL, is_local ? kLocalReconnectAfterMs : kReconnectAfterMs) &&
        set_option(socket, ZMQ_RECONNECT_IVL_MAX, is_local ? kLocalReconnectAfterMsMax : kReconnectAfterMsMax) &&
        set_option(socket, ZMQ_HEARTBEAT_IVL, kHeartbeatIntervalMs) &&
        set_option(socket, ZMQ_HEARTBEAT_TIMEOUT, kHeartbeatTimeoutMs) &&
        // Only for addresses written so: a name that has both kinds would get no second try.
        set_option(socket, ZMQ_IPV6, endpoint.find('[') != std::string::npos ? 1 : 0);
    if (!is_set) {
        return zmq_error(ErrorCode::kIo, "zmq_setsockopt");
    }
    sockets->endpoint = endpoint;
    if (keys != nullptr) {
        if (auto set = sockets->set_keys(*keys); !set) {
            return std::move(set).error();
        }
    }
    if (is_inproc) {
        // There is no other connection, and it waits for a gateway that binds later.
        sockets->is_connected = true;
        sockets->was_made = true;
    } else {
        sockets->monitor_endpoint =
            "inproc://perfleet-monitor-" + std::to_string(reinterpret_cast<std::uintptr_t>(socket));
        sockets->monitor = zmq_socket(context, ZMQ_PAIR);
        if (sockets->monitor == nullptr ||
            zmq_socket_monitor(socket, sockets->monitor_endpoint.c_str(),
                               ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED | kHandshakeFailures) != 0 ||
            !set_option(sockets->monitor, ZMQ_LINGER, 0) ||
            zmq_connect(sockets->monitor, sockets->monitor_endpoint.c_str()) != 0) {
            return zmq_error(ErrorCode::kIo, "zmq_socket_monitor");
        }
    }
    if (zmq_connect(socket, endpoint.c_str()) != 0) {
        return Error{ErrorCode::kUsage, "gateway '" + endpoint + "': " + zmq_strerror(zmq_errno()) +
                                            "; give tcp://HOST:PORT or ipc://PATH"};
    }
    return std::unique_ptr<ZmqDriver>{new ZmqDriver{std::move(sockets)}};
}

ZmqDriver::ZmqDriver(std::unique_ptr<Sockets> sockets) : sockets_{std::move(sockets)} {}
ZmqDriver::~ZmqDriver() = default;

bool ZmqDriver::send(std::span<const std::byte> frame) {
    // Events are taken by reconnected() alone: a frame must not go over a connection that nobody has heard of, or
    // whoever asks reconnected() afterwards takes it for a newer one.
    return sockets_->is_connected && zmq_send(sockets_->socket, frame.data(), frame.size(), ZMQ_DONTWAIT) >= 0;
}

Checked<std::size_t> ZmqDriver::receive(std::span<std::byte> into) {
    const int size = zmq_recv(sockets_->socket, into.data(), into.size(), ZMQ_DONTWAIT);
    if (size < 0) {
        return std::size_t{0};
    }
    int has_more = 0;
    std::size_t option_size = sizeof has_more;
    zmq_getsockopt(sockets_->socket, ZMQ_RCVMORE, &has_more, &option_size);
    if (has_more == 0 && static_cast<std::size_t>(size) <= into.size() && size > 0) {
        return static_cast<std::size_t>(size);
    }
    // Too large, empty, or of several frames, which no message of ours is: the rest of it goes, too.
    std::array<char, 1> rest{};
    while (has_more != 0) {
        zmq_recv(sockets_->socket, rest.data(), rest.size(), ZMQ_DONTWAIT);
        zmq_getsockopt(sockets_->socket, ZMQ_RCVMORE, &has_more, &option_size);
    }
    return Fault{ErrorCode::kTooLarge, 0, static_cast<std::uint64_t>(size)};
}

bool ZmqDriver::is_connected() const { return sockets_->is_connected; }

const std::string& ZmqDriver::trouble() const { return sockets_->trouble; }

bool ZmqDriver::reconnected() {
    sockets_->take_events();
    return std::exchange(sockets_->was_made, false);
}

void ZmqDriver::wait(int wake_fd, std::uint64_t timeout_ns) {
    std::array<zmq_pollitem_t, 3> items{};
    int count = 0;
    items[static_cast<std::size_t>(count++)] = {sockets_->socket, 0, ZMQ_POLLIN, 0};
    if (sockets_->monitor != nullptr) {
        items[static_cast<std::size_t>(count++)] = {sockets_->monitor, 0, ZMQ_POLLIN, 0};
    }
    if (wake_fd >= 0) {
        items[static_cast<std::size_t>(count++)] = {nullptr, wake_fd, ZMQ_POLLIN, 0};
    }
    constexpr std::uint64_t kNsPerMs = 1'000'000;
    constexpr std::uint64_t kWaitMsMax = 60'000;
    const std::uint64_t wait_ms = (timeout_ns + kNsPerMs - 1) / kNsPerMs;
    zmq_poll(items.data(), count, static_cast<long>(wait_ms < kWaitMsMax ? wait_ms : kWaitMsMax));
}

}  // namespace perfleet
