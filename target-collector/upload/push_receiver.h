// Receives profiles that agents push, and stores them through the gateway of this machine.
//
// Threads: any.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "schemas/peers/local_socket.h"
#include "schemas/session/pushed_body.h"
#include "target-collector/intake/push/pushed_sessions.h"
#include "target-collector/upload/gateway_destination.h"

namespace perfleet {

class PushReceiver {
public:
    static constexpr std::uint64_t kAnswerTimeoutNs = 20'000'000'000;  // agents give up after 30 s

    // `folder`: with the gateway's socket. `log` gets messages about refused profiles. Errors: those of
    // LocalSocket::in().
    [[nodiscard]] static Result<std::unique_ptr<PushReceiver>> make(const std::string& folder, const LogSink& log);

    // When it returns, all of it is acknowledged. Errors: those of the formats' readers and of PushedSessions::store().
    [[nodiscard]] Result<PushOutcome> take(PushedBody body_untrusted, const PushedSessions::LoadHashes& load);

    [[nodiscard]] PushCounts counts() const { return {requests_, refused_, rows_, profiles_rejected_}; }

private:
    PushReceiver(LocalSocket socket, const LogSink& log);
    [[nodiscard]] Result<PushOutcome> store(PushedBody body, const PushedSessions::LoadHashes& load);

    LocalSocket socket_;
    GatewayDestination destination_;
    PushedSessions sessions_;
    LogSink log_;
    std::atomic<std::uint64_t> requests_ = 0;
    std::atomic<std::uint64_t> refused_ = 0;
    std::atomic<std::uint64_t> rows_ = 0;
    std::atomic<std::uint64_t> profiles_rejected_ = 0;
};

}  // namespace perfleet
