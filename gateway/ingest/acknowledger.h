// Sends acknowledgements and credit to peers: once for all batches of a turn; repeated at growing intervals while
// nothing happens; and when a peer's turn for credit has come. One thread.
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

    // Raises the send limit as far as the credit budget allows, unless peers wait in line. A session without credit
    // then joins the line.
    void raise_send_limit(const SessionPtr& session, std::uint64_t now_ns);

    void acknowledge(const SessionPtr& session, std::uint64_t now_ns);

    // Acknowledges once with the next send_due(), however often this is called until then.
    void acknowledge_soon(const SessionPtr& session);

    // Sends requested acknowledgements, and credit to waiting sessions as far as any is left.
    void send_due(std::uint64_t now_ns);

    // Repeats acknowledgements, which may have been lost, to peers that got none for a while. Call it every interval.
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
    std::deque<SessionPtr> line_;  // first come, first served; sessions that don't wait any more are skipped
};

}  // namespace perfleet
