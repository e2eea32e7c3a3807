#include "gateway/wire/peer_guard.h"

#include <unistd.h>
#include <zmq.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <utility>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "gateway/wire/monotonic_clock.h"
#include "schemas/peers/zap.h"
#include "schemas/vocabulary/assert.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kNsPerMs = 1'000'000;
constexpr int kEventsAtOnceMax = 1'024;
constexpr int kQuestionsAtOnceMax = 64;
constexpr int kEventsWaitingMax = 64;  // beside the thousand that libzmq's own end holds
constexpr std::uint64_t kLookEveryNs = 250 * kNsPerMs;
static_assert(kLookEveryNs < PeerGuard::kRevokedWithinNs);
constexpr std::uint64_t kComplaintsMax = 4;
constexpr std::uint64_t kComplaintsEveryNs = 10'000 * kNsPerMs;
constexpr int kEvents = ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                        ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL;

constexpr std::uint64_t kTrimEveryNs = 500 * kNsPerMs;

// 0: not known.
std::size_t resident_size_bytes() {
    // Opened anew each time: a descriptor that is kept costs one of the connections'.
    std::FILE* const file = std::fopen("/proc/self/statm", "re");
    if (file == nullptr) {
        return 0;
    }
    unsigned long size = 0;
    unsigned long resident = 0;
    const bool is_read = std::fscanf(file, "%lu %lu", &size, &resident) == 2;
    std::fclose(file);
    return is_read ? resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) : 0;
}

// glibc's heaps keep what was freed below something that is in use.
void trim_freed_memory() {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

Error zmq_error(const std::string& what) {
    return Error{zmq_errno() == EADDRINUSE ? ErrorCode::kBusy : ErrorCode::kIo,
                 what + ": " + zmq_strerror(zmq_errno())};
}

bool set_option(void* socket, int option, int value) {
    return zmq_setsockopt(socket, option, &value, sizeof value) == 0;
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

PeerGuard::PeerGuard(std::unique_ptr<KeyFolder> allowed, const ConnectionTable::Limits& limits, Notice notice)
    : allowed_{std::move(allowed)}, connections_{limits}, notice_{std::move(notice)} {
    if (allowed_ != nullptr) {
        connections_.allow(allowed_->set(), allowed_->bad_file_count());
    }
}

Result<std::unique_ptr<PeerGuard>> PeerGuard::open(void* context, std::unique_ptr<KeyFolder> allowed,
                                                   const ConnectionTable::Limits& limits, Notice notice) {
    std::unique_ptr<PeerGuard> guard{new PeerGuard{std::move(allowed), limits, std::move(notice)}};
    guard->context_ = context;
    if (guard->allowed_ != nullptr) {
        guard->zap_ = zmq_socket(context, ZMQ_REP);
        if (guard->zap_ == nullptr || !set_option(guard->zap_, ZMQ_LINGER, 0) ||
            zmq_bind(guard->zap_, kZapEndpoint) != 0) {
            return zmq_error(kZapEndpoint);
        }
    }
    return guard;
}

PeerGuard::~PeerGuard() {
    stop();
    if (zap_ != nullptr) {
        zmq_close(zap_);
    }
}

Result<Done> PeerGuard::start(void* socket) {
    PERFLEET_ASSERT(!thread_.joinable());
    socket_ = socket;
    const std::string endpoint = "inproc://perfleet-guard-" + std::to_string(reinterpret_cast<std::uintptr_t>(socket));
    monitor_ = zmq_socket(context_, ZMQ_PAIR);
    if (monitor_ == nullptr || !set_option(monitor_, ZMQ_LINGER, 0) ||
        !set_option(monitor_, ZMQ_RCVHWM, kEventsWaitingMax) ||
        zmq_socket_monitor(socket, endpoint.c_str(), kEvents) != 0 || zmq_connect(monitor_, endpoint.c_str()) != 0) {
        return zmq_error("zmq_socket_monitor");
    }
    thread_ = std::thread{[this] { run(); }};
    return Done{};
}

void PeerGuard::stop() {
    if (thread_.joinable()) {
        // While the thread still takes events: libzmq waits until the last one is taken.
        zmq_socket_monitor(socket_, nullptr, 0);
        stop_.store(true, std::memory_order_release);
        thread_.join();
    }
    if (monitor_ != nullptr) {
        zmq_close(monitor_);
        monitor_ = nullptr;
    }
}

void PeerGuard::run() {
    std::array<zmq_pollitem_t, 2> items{};
    items[0] = {monitor_, 0, ZMQ_POLLIN, 0};
    items[1] = {zap_, 0, ZMQ_POLLIN, 0};
    std::uint64_t next_sweep_ns = 0;
    std::uint64_t next_relief_ns = 0;
    std::uint64_t next_look_ns = 0;
    while (!stop_.load(std::memory_order_acquire)) {
        zmq_poll(items.data(), zap_ == nullptr ? 1 : 2, static_cast<long>(ConnectionTable::kRelieveEveryNs / kNsPerMs));
        take_events();
        if (zap_ != nullptr) {
            answer_questions();
        }
        const std::uint64_t now = monotonic_now_ns();
        if (now >= next_relief_ns) {
            relieve(now);
            next_relief_ns = now + ConnectionTable::kRelieveEveryNs;
        }
        if (now >= next_sweep_ns) {
            connections_.sweep(now);
            next_sweep_ns = now + ConnectionTable::kSweepEveryNs;
        }
        if (allowed_ != nullptr && now >= next_look_ns) {
            if (allowed_->refresh(now)) {
                connections_.allow(allowed_->set(), allowed_->bad_file_count());
            }
            next_look_ns = monotonic_now_ns() + kLookEveryNs;
        }
    }
}

// Cuts connections while this process holds too much memory, and gives back what the allocator keeps of others' ends.
void PeerGuard::relieve(std::uint64_t now_ns) {
    if (connections_.relieve(resident_size_bytes()) > 0) {
        is_trim_due_ = true;
    }
    if (is_trim_due_ && now_ns >= next_trim_ns_) {
        is_trim_due_ = false;
        trim_freed_memory();
        next_trim_ns_ = monotonic_now_ns() + kTrimEveryNs;
    }
}

void PeerGuard::take_events() {
    const std::uint64_t now = monotonic_now_ns();
    for (int i = 0; i < kEventsAtOnceMax; ++i) {
        // The event's number and value, and the endpoint, which is that of the listener.
        const std::vector<std::string> frames = receive_frames(monitor_);
        std::uint16_t event = 0;
        std::uint32_t value = 0;
        if (frames.empty() || frames[0].size() != sizeof event + sizeof value) {
            return;
        }
        std::memcpy(&event, frames[0].data(), sizeof event);
        std::memcpy(&value, frames[0].data() + sizeof event, sizeof value);
        switch (event) {
            case ZMQ_EVENT_ACCEPTED: connections_.accepted(static_cast<int>(value), now); break;
            case ZMQ_EVENT_DISCONNECTED: connections_.ended(static_cast<int>(value)); break;
            case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
                connections_.handshake_failed(ConnectionTable::HandshakeFault::kUnfinished);
                break;
            case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL: connections_.handshake_failed(fault_of(value)); break;
            default: break;
        }
    }
}

void PeerGuard::answer_questions() {
    for (int i = 0; i < kQuestionsAtOnceMax; ++i) {
        const std::vector<std::string> request = receive_frames(zap_);
        if (request.empty()) {
            return;
        }
        const ZapReply reply = answer_zap(request, *allowed_->set());
        if (reply.verdict != ZapVerdict::kAllowed) {
            connections_.handshake_failed(ConnectionTable::HandshakeFault::kUnknownKey);
        }
        if (reply.verdict == ZapVerdict::kUnknownKey) {
            complain_unknown(request[3], request.back());
        }
        for (std::size_t frame = 0; frame < reply.frames.size(); ++frame) {
            const std::string& text = reply.frames.at(frame);
            zmq_send(zap_, text.data(), text.size(),
                     ZMQ_DONTWAIT | (frame + 1 < reply.frames.size() ? ZMQ_SNDMORE : 0));
        }
    }
}

// What an operator needs who forgot to enrol somebody; only some in a while.
void PeerGuard::complain_unknown(const std::string& address, const std::string& key_bytes) {
    const std::uint64_t now = monotonic_now_ns();
    if (now - complaints_since_ns_ >= kComplaintsEveryNs) {
        complaints_since_ns_ = now;
        complaint_count_ = 0;
    }
    if (++complaint_count_ > kComplaintsMax || !notice_) {
        return;
    }
    PublicKey key;
    std::copy_n(key_bytes.begin(), std::min(key_bytes.size(), key.bytes.size()), key.bytes.begin());
    notice_("refused a peer at " + address + ": its key " + encode_public_key(key) + " is not on the allow-list");
}

}  // namespace perfleet
