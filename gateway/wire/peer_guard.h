// Who may come in at the gateway's socket, and how many: answers ZeroMQ's questions about keys (ZAP), follows the
// socket's connections, reads the allow-list again, and ends connections that have no right or no use.
//
// A thread of its own, so that a long sync of the store holds up no handshake and no refusal. While it is busy the
// socket takes no new connections: its events are a bounded queue.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "schemas/peers/connection_table.h"
#include "schemas/peers/key_folder.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

class PeerGuard {
public:
    // A key that is taken off the allow-list has lost its connections after this long at most, if the machine isn't
    // overloaded.
    static constexpr std::uint64_t kRevokedWithinNs = 1'000'000'000;

    using Notice = std::function<void(std::string_view)>;

    // `context` is what zmq_ctx_new() returned, `allowed` null where there are no keys. Errors: kBusy (the context has
    // somebody else who answers for keys), kIo.
    [[nodiscard]] static Result<std::unique_ptr<PeerGuard>> open(void* context, std::unique_ptr<KeyFolder> allowed,
                                                                 const ConnectionTable::Limits& limits, Notice notice);
    PeerGuard(const PeerGuard&) = delete;
    PeerGuard& operator=(const PeerGuard&) = delete;
    ~PeerGuard();

    // Follows this socket from now on, until stop(), which comes before the socket is closed.
    [[nodiscard]] Result<Done> start(void* socket);
    void stop();

    [[nodiscard]] ConnectionTable& connections() { return connections_; }

private:
    PeerGuard(std::unique_ptr<KeyFolder> allowed, const ConnectionTable::Limits& limits, Notice notice);

    void run();
    void relieve(std::uint64_t now_ns);
    void take_events();
    void answer_questions();
    void complain_unknown(const std::string& address, const std::string& key_bytes);

    std::unique_ptr<KeyFolder> allowed_;
    ConnectionTable connections_;
    Notice notice_;
    void* context_ = nullptr;
    void* socket_ = nullptr;   // borrowed
    void* monitor_ = nullptr;  // what happens to its connections
    void* zap_ = nullptr;      // questions about keys
    std::atomic<bool> stop_{false};
    std::thread thread_;
    bool is_trim_due_ = false;
    std::uint64_t next_trim_ns_ = 0;
    std::uint64_t complaints_since_ns_ = 0;
    std::uint64_t complaint_count_ = 0;
};

}  // namespace perfleet
