// Tells peers how far they came and how far they may send: once for all that a turn did, again when nothing happens for
// a while, less and less often, and when a peer's turn for credit has come. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "gateway/ingest/credit_accounts.h"
#include "gateway/ingest/peer_link.h"
#include "gateway/ingest/session_table.h"

namespace perfleet {

class Acknowledger {
public:
    // Borrowed.
    Acknowledger(std::uint64_t incarnation, SessionTable& table, CreditAccounts& credit, PeerLink& link)
        : incarnation_{incarnation}, table_{table}, credit_{credit}, link_{link} {}

    // As far as the budget allows and nobody who has nothing waits; who got nothing stands in line from then on.
    void raise_send_limit(const SessionPtr& session, std::uint64_t now_ns);

    void acknowledge(const SessionPtr& session, std::uint64_t now_ns);

    // With the next send_due(), however often it is asked for until then.
    void acknowledge_soon(const SessionPtr& session);

    // What was asked for, and those in line for whom there is credit now.
    void send_due(std::uint64_t now_ns);

    // Those who weren't told for a while: an acknowledgement may have been lost. To be called every interval.
    void go_round(std::uint64_t now_ns);

private:
    [[nodiscard]] bool has_credit(const Session& session) const {
        return session.send_limit > session.progress.prefix();
    }
    void send(Session& session, std::uint64_t now_ns);
    void stand_in_line(const SessionPtr& session);
    void serve_line(std::uint64_t now_ns);

    std::uint64_t incarnation_;
    SessionTable& table_;
    CreditAccounts& credit_;
    PeerLink& link_;
    std::vector<SessionPtr> due_;
    std::deque<SessionPtr> line_;  // first come first; those that don't wait any more are passed over
};

}  // namespace perfleet
