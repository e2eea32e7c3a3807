#include "gateway/ingest/acknowledger.h"

#include <algorithm>
#include <utility>

#include "gateway/ingest/reply.h"

namespace perfleet {
namespace {

// The line is cleaned of disconnected peers when it has this many more entries than twice the peers.
constexpr std::size_t kStalePlacesMax = 1'024;

bool is_waiting(const Session& session) { return session.credit.is_waiting && !session.routing_id.empty(); }

}  // namespace

void Acknowledger::stand_in_line(const SessionPtr& session) {
    if (session->credit.is_waiting) {
        return;
    }
    session->credit.is_waiting = true;
    line_.push_back(session);
    if (line_.size() > 2 * table_.peer_count() + kStalePlacesMax) {
        std::erase_if(line_, [](const SessionPtr& one) { return !is_waiting(*one); });
    }
}

void Acknowledger::raise_send_limit(const SessionPtr& session, std::uint64_t now_ns) {
    credit_.recount(session->credit, session->progress.prefix(), session->send_limit);
    if (line_.empty()) {
        session->send_limit = credit_.raise(session->credit, session->progress.prefix(), session->send_limit,
                                            table_.peer_count(), now_ns);
    }
    if (!has_credit(*session)) {
        stand_in_line(session);
    }
}

void Acknowledger::acknowledge(const SessionPtr& session, std::uint64_t now_ns) {
    session->needs_ack = false;
    if (session->routing_id.empty()) {
        return;
    }
    if (session->finished) {
        credit_.close(session->credit, session->send_limit);
    } else {
        raise_send_limit(session, now_ns);
    }
    session->repeat_after_ns = intake_limits::kAckRepeatNsMin;
    send(*session, now_ns);
}

void Acknowledger::send(Session& session, std::uint64_t now_ns) {
    session.acknowledged_ns = now_ns;
    link_.send(session.routing_id, encode_ack({session.record.session, session.progress.prefix(), session.send_limit,
                                               incarnation_, session.finished}));
}

void Acknowledger::acknowledge_soon(const SessionPtr& session) {
    if (!session->needs_ack) {
        session->needs_ack = true;
        due_.push_back(session);
    }
}

void Acknowledger::send_due(std::uint64_t now_ns) {
    for (const SessionPtr& session : std::exchange(due_, {})) {
        if (session->needs_ack) {
            acknowledge(session, now_ns);
        }
    }
    serve_line(now_ns);
}

void Acknowledger::serve_line(std::uint64_t now_ns) {
    while (!line_.empty()) {
        const SessionPtr session = line_.front();
        if (is_waiting(*session)) {
            if (!credit_.can_promise(session->credit)) {
                return;
            }
            session->send_limit = credit_.raise(session->credit, session->progress.prefix(), session->send_limit,
                                                CreditAccounts::kOneBatch, now_ns);
            session->credit.is_waiting = false;
            line_.pop_front();
            send(*session, now_ns);
        } else {
            line_.pop_front();
        }
    }
}

void Acknowledger::go_round(std::uint64_t now_ns) {
    std::vector<SessionPtr> sessions;
    sessions.reserve(table_.peer_count());
    table_.for_each_peer([&](const SessionPtr& session) { sessions.push_back(session); });
    for (const SessionPtr& session : sessions) {
        if (!line_.empty()) {
            credit_.write_off(session->credit, session->send_limit, now_ns);
        }
        if (session->finished && now_ns - session->acknowledged_ns >= intake_limits::kEndedPeerKeptNs) {
            table_.detach(std::string{session->routing_id});  // a copy: detach() empties it
            continue;
        }
        if (!session->finished && now_ns - session->acknowledged_ns >= session->repeat_after_ns) {
            const std::uint64_t next_ns = std::clamp(2 * session->repeat_after_ns, intake_limits::kAckRepeatNsMin,
                                                     intake_limits::kAckRepeatNsMax);
            acknowledge(session, now_ns);
            session->repeat_after_ns = next_ns;
        }
    }
    serve_line(now_ns);
}

}  // namespace perfleet
