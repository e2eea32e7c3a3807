// Operators' requests to running sessions, from when they are placed until they are answered or time out.
//
// One request per session is sent at a time. It has a number and is repeated with it, every interval and after a
// reconnect, so that the target applies it once; the next one is sent when it is answered. Nothing here outlives the
// operator's timeout, and no message of a target makes the queue grow.
//
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "gateway/admission/untrusted.h"
#include "gateway/control/operator_message.h"
#include "gateway/ingest/peer_link.h"
#include "gateway/ingest/session_table.h"
#include "schemas/wire/protocol.h"

namespace perfleet {

// Identifies a request; the caller chooses it.
using RequestTicket = std::uint64_t;

struct RequestAnswer {
    RequestTicket ticket = 0;
    RequestOutcome outcome{};
    std::string reason;  // why it wasn't applied; may hold any text of the target
};

class ControlRequestQueue {
public:
    // `link` is borrowed.
    ControlRequestQueue(std::uint64_t incarnation, PeerLink& link) : incarnation_{incarnation}, link_{link} {}

    // Queues a request to this session, for at most kRequestTimeoutNsMax. `session` is null if it isn't known, or no
    // peer is attached to it.
    void place(RequestTicket ticket, const OperatorCommand& order, const SessionPtr& session, std::uint64_t now_ns);
    // The operator has disconnected. The request may have been applied.
    void withdraw(RequestTicket ticket);

    // A peer is attached to the session, again or for the first time.
    void attach(const Session& session, std::uint64_t now_ns);
    void take(const Session& session, const ControlledUntrusted& controlled, std::uint64_t now_ns);
    void tick(const SessionTable& table, std::uint64_t now_ns);

    // Since the last call.
    [[nodiscard]] std::vector<RequestAnswer> take_answers();

    [[nodiscard]] bool is_empty() const { return request_count_ == 0; }
    // When tick() has something to do. Not to be called while it is empty.
    [[nodiscard]] std::uint64_t due_ns() const;

private:
    struct Pending {
        RequestTicket ticket = 0;
        protocol::ControlCommand command{};
        EventNumber event;
        std::uint64_t value = 0;
        std::uint64_t timeout_ns = 0;
        std::uint64_t deadline_ns = 0;
        std::uint64_t number = 0;  // 0: not sent yet
        std::uint64_t sent_ns = 0;
    };
    using Queue = std::deque<Pending>;
    struct IdHash {
        std::size_t operator()(const SessionId& id) const { return static_cast<std::size_t>(id.high ^ id.low); }
    };

    void answer(RequestTicket ticket, RequestOutcome outcome, std::string reason);
    void send_first(const Session& session, Queue& queue, std::uint64_t now_ns);
    void give_up(const Pending& order, bool is_connected);

    std::uint64_t incarnation_;
    PeerLink& link_;
    std::uint64_t last_number_ = 0;
    std::size_t request_count_ = 0;
    std::unordered_map<SessionId, Queue, IdHash> queues_;  // none is empty
    std::vector<RequestAnswer> answers_;
};

}  // namespace perfleet
