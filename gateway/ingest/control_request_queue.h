// Operators' requests to running sessions, from the moment at which they are placed until they are answered or their
// time is over.
//
// One order of a session is under way at a time: it is numbered, repeated every interval and after a reconnect with the
// same number, so its target applies it once, and the next one goes when it is answered. Nothing here outlives the
// operator's timeout, and nothing that a target says makes it grow.
//
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gateway/admission/untrusted.h"
#include "gateway/control/operator_message.h"
#include "gateway/counts/gateway_counts.h"
#include "gateway/ingest/peer_link.h"
#include "gateway/ingest/session_table.h"
#include "schemas/wire/protocol.h"

namespace perfleet {

// Which order of which operator; given by who asks.
using RequestTicket = std::uint64_t;

struct RequestAnswer {
    RequestTicket ticket = 0;
    RequestOutcome outcome{};
    std::string reason;  // where it wasn't applied; what a target says in it may hold anything
};

class ControlRequestQueue {
public:
    // `link` is borrowed.
    ControlRequestQueue(std::uint64_t incarnation, PeerLink& link) : incarnation_{incarnation}, link_{link} {}

    // To the session of this id, for kRequestTimeoutNsMax at most; null: it isn't known, or nobody speaks for it.
    void place(RequestTicket ticket, const OperatorCommand& order, const SessionPtr& session, std::uint64_t now_ns);
    // Nobody waits for it any more. It may have been applied.
    void withdraw(RequestTicket ticket);

    // Somebody speaks for the session, again or for the first time.
    void attach(const Session& session, std::uint64_t now_ns);
    void take(const Session& session, const ControlledUntrusted& controlled, std::uint64_t now_ns);
    void tick(const SessionTable& table, std::uint64_t now_ns);

    // Since the last call.
    [[nodiscard]] std::vector<RequestAnswer> take_answers();

    [[nodiscard]] bool is_empty() const { return request_count_ == 0; }
    // When tick() has something to do; not while it is empty.
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
