#include "query-engine/wire/query_guard.h"

#include <zmq.h>

#include <array>
#include <cstring>
#include <ctime>
#include <utility>
#include <vector>

#include "schemas/peers/zap.h"

namespace perfleet {
namespace {

constexpr int kAtOnceMax = 256;
constexpr int kEvents = ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                        ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL;

std::uint64_t now_ns() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

Error zmq_error(const std::string& what) { return Error{ErrorCode::kIo, what + ": " + zmq_strerror(zmq_errno())}; }

void* open_socket(void* context, int type) {
    void* const socket = zmq_socket(context, type);
    const int none = 0;
    if (socket != nullptr) {
        zmq_setsockopt(socket, ZMQ_LINGER, &none, sizeof none);
    }
    return socket;
}

// All frames of the next message; empty: there is none.
std::vector<std::string> receive_frames(void* socket) {
    std::vector<std::string> frames;
    bool has_more = true;
    while (has_more) {
        zmq_msg_t message;
        zmq_msg_init(&message);
        if (zmq_msg_recv(&message, socket, ZMQ_DONTWAIT) < 0) {
            zmq_msg_close(&message);
            return {};
        }
        frames.emplace_back(static_cast<const char*>(zmq_msg_data(&message)), zmq_msg_size(&message));
        has_more = zmq_msg_more(&message) != 0;
        zmq_msg_close(&message);
    }
    return frames;
}

ConnectionTable::HandshakeFault fault_of(std::uint32_t protocol_error) {
    switch (protocol_error) {
        case ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH: return ConnectionTable::HandshakeFault::kNoKey;
        case ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC: return ConnectionTable::HandshakeFault::kUndecipherable;
        default: return ConnectionTable::HandshakeFault::kMalformed;
    }
}

}  // namespace

QueryGuard::QueryGuard(std::unique_ptr<KeyFolder> allowed, const ConnectionTable::Limits& limits)
    : allowed_{std::move(allowed)}, connections_{limits} {
    if (allowed_ != nullptr) {
        connections_.allow(allowed_->set(), allowed_->bad_file_count());
    }
}

Result<std::unique_ptr<QueryGuard>> QueryGuard::open(void* context, void* socket, std::unique_ptr<KeyFolder> allowed,
                                                     const ConnectionTable::Limits& limits) {
    std::unique_ptr<QueryGuard> guard{new QueryGuard{std::move(allowed), limits}};
    guard->socket_ = socket;
    if (guard->allowed_ != nullptr) {
        guard->zap_ = open_socket(context, ZMQ_REP);
        if (guard->zap_ == nullptr || zmq_bind(guard->zap_, kZapEndpoint) != 0) {
            return zmq_error(kZapEndpoint);
        }
    }
    constexpr const char* kEndpoint = "inproc://perfleet-query-guard";
    guard->monitor_ = open_socket(context, ZMQ_PAIR);
    if (guard->monitor_ == nullptr || zmq_socket_monitor(socket, kEndpoint, kEvents) != 0 ||
        zmq_connect(guard->monitor_, kEndpoint) != 0) {
        return zmq_error("zmq_socket_monitor");
    }
    return guard;
}

QueryGuard::~QueryGuard() {
    // libzmq waits while nobody takes events: there is room again before it is told to stop.
    while (monitor_ != nullptr && take_event()) {
    }
    zmq_socket_monitor(socket_, nullptr, 0);
    for (void* const socket : {monitor_, zap_}) {
        if (socket != nullptr) {
            zmq_close(socket);
        }
    }
}

void QueryGuard::look_after() {
    for (int i = 0; i < kAtOnceMax && take_event(); ++i) {
    }
    for (int i = 0; i < kAtOnceMax && answer_question(); ++i) {
    }
    const std::uint64_t now = now_ns();
    if (now < next_look_ns_) {
        return;
    }
    next_look_ns_ = now + kLookEveryNs;
    connections_.sweep(now);
    if (now >= next_forgiving_ns_) {
        next_forgiving_ns_ = now + kDecayEveryNs;
        abuse_limiter_.decay();
    }
    if (allowed_ != nullptr && allowed_->refresh(now)) {
        connections_.allow(allowed_->set(), allowed_->bad_file_count());
    }
}

bool QueryGuard::take_event() {
    // The event's number and value, and the endpoint.
    const std::vector<std::string> frames = receive_frames(monitor_);
    std::uint16_t event = 0;
    std::uint32_t value = 0;
    if (frames.empty() || frames[0].size() != sizeof event + sizeof value) {
        return false;
    }
    std::memcpy(&event, frames[0].data(), sizeof event);
    std::memcpy(&value, frames[0].data() + sizeof event, sizeof value);
    switch (event) {
        case ZMQ_EVENT_ACCEPTED: connections_.accepted(static_cast<int>(value), now_ns()); break;
        case ZMQ_EVENT_DISCONNECTED: connections_.ended(static_cast<int>(value)); break;
        case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
            connections_.handshake_failed(ConnectionTable::HandshakeFault::kUnfinished);
            break;
        case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL: connections_.handshake_failed(fault_of(value)); break;
        default: break;
    }
    return true;
}

bool QueryGuard::answer_question() {
    if (zap_ == nullptr) {
        return false;
    }
    const std::vector<std::string> request = receive_frames(zap_);
    if (request.empty()) {
        return false;
    }
    const ZapReply reply = answer_zap(request, *allowed_->set());
    if (reply.verdict != ZapVerdict::kAllowed) {
        connections_.handshake_failed(ConnectionTable::HandshakeFault::kUnknownKey);
    }
    for (std::size_t frame = 0; frame < reply.frames.size(); ++frame) {
        const std::string& text = reply.frames.at(frame);
        zmq_send(zap_, text.data(), text.size(), ZMQ_DONTWAIT | (frame + 1 < reply.frames.size() ? ZMQ_SNDMORE : 0));
    }
    return true;
}

ConnectionName QueryGuard::connection_of(const void* message) {
    return connections_.name_of(zmq_msg_get(static_cast<const zmq_msg_t*>(message), ZMQ_SRCFD));
}

bool QueryGuard::is_cut_for_garbage(std::string_view peer, const ConnectionName& connection, std::size_t size_bytes) {
    ++malformed_count_;
    if (!abuse_limiter_.is_enough(peer, 0, size_bytes)) {
        return false;
    }
    connections_.cut(connection);
    return true;
}

TransportCounts QueryGuard::counts() const {
    TransportCounts counts = connections_.counts();
    counts.messages_malformed = malformed_count_;
    return counts;
}

bool QueryGuard::may_ask(const void* message) {
    const auto* const frame = static_cast<const zmq_msg_t*>(message);
    const int descriptor = zmq_msg_get(frame, ZMQ_SRCFD);
    if (allowed_ == nullptr) {
        connections_.heard(descriptor);
        return true;
    }
    const char* const own_name = zmq_msg_gets(frame, "Identity");
    if (own_name != nullptr && *own_name != '\0') {
        connections_.refuse_routing_id(descriptor);
        return false;
    }
    const char* const user = zmq_msg_gets(frame, kZapUserId);
    const auto key = decode_public_key(user == nullptr ? "" : user);
    return key.has_value() && connections_.heard(descriptor, *key) != nullptr;
}

}  // namespace perfleet
