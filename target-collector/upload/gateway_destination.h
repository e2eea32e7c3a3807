// A gateway as the destination of sessions that a program makes itself: they are sent like those of a collector.
//
// One thread a session. Errors of a session: kUnavailable (no answer from the gateway for too long), kInvalid (it
// refuses the session, or batches of it).
#pragma once

#include <memory>

#include "schemas/vocabulary/log_event.h"
#include "target-collector/intake/session/session_writer.h"
#include "target-collector/linux/link/gateway_link.h"

namespace perfleet {

class GatewayDestination : public SessionDestination {
public:
    static constexpr std::uint64_t kAnswerTimeoutNs = 60'000'000'000;

    // `log` gets a message if a gateway doesn't answer at once. `answer_timeout_ns`: without progress.
    GatewayDestination(GatewayLink::Peer peer, LogSink log, std::uint64_t answer_timeout_ns = kAnswerTimeoutNs);

    // Errors: GatewayLink::connect().
    [[nodiscard]] static Result<std::unique_ptr<SessionDestination>> connect(GatewayLink::Peer peer, LogSink log);

    [[nodiscard]] Result<std::unique_ptr<SessionWriter>> begin(SessionRecord record, UtcNs now) override;
    [[nodiscard]] Result<bool> has_ended(TargetId /*target*/, SessionId /*session*/) const override { return false; }

private:
    GatewayLink::Peer peer_;
    LogSink log_;
    std::uint64_t answer_timeout_ns_;
};

}  // namespace perfleet
