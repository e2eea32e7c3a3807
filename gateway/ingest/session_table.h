// The sessions that peers are attached to, and the peer of each.
//
// Bounded by count and by the size of descriptions. When the table is full, sessions are forgotten and their peers
// asked for a Hello: first sessions without a peer, then those of which nothing is stored (so that a peer that opens
// many can't evict those of others), each time the least recently used. A session's stored state is read at its peer's
// Hello, so that memory doesn't grow with the age of the store. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gateway/admission/intake_limits.h"
#include "gateway/ingest/credit_accounts.h"
#include "gateway/ingest/known_keys.h"
#include "gateway/ingest/reported_losses.h"
#include "gateway/ingest/seq_progress.h"
#include "gateway/ingest/session_monotonicity.h"
#include "schemas/peers/text_map.h"
#include "schemas/vocabulary/error.h"
#include "schemas/wire/delivery_limits.h"
#include "schemas/wire/protocol.h"
#include "storage/read/reader.h"

namespace perfleet {

struct Session {
    SessionRecord record;
    std::size_t size_bytes = 0;  // approximate size in memory
    bool granted = false;        // the gateway chose its id
    std::string routing_id;      // of the peer that is attached to it; empty: none is

    SeqProgress progress;  // durable or resolved
    SessionMonotonicity monotonicity;
    Seq send_limit;  // last sent to the peer; never decreases
    CreditAccount credit;
    bool finished = false;              // the Bye is durable
    bool defined = false;               // the store knows it
    std::vector<Partition> defined_in;  // at most kPartitionsRememberedMax
    std::vector<Partition> chosen;      // recently, for its buckets (partition_choice.h); at most as many

    // The newest refused batches, at most kRefusalsRememberedMax, for a peer that may have missed the refusals.
    struct Refusal {
        Seq seq;
        protocol::RefusedReason reason{};
    };
    std::deque<Refusal> refusals;

    // Of the group that is being gathered (commit_group.h).
    std::map<std::uint64_t, std::uint32_t> gathered;  // seq to seal
    Seq oldest_retained;
    std::vector<Seq> resolved;  // seqs of the group that are stored with other content
    bool is_touched = false;
    bool has_end = false;

    bool was_ignored_while_stuck = false;  // sent a message while the store was stuck; the peer sends it again
    bool is_deferred = false;              // since its last Hello
    std::uint64_t ahead_since_ns = 0;      // arrival of the first of its batches ahead of the gateway's clock; 0: none
    std::uint64_t ahead_last_ns = 0;
    bool needs_ack = false;
    std::uint64_t acknowledged_ns = 0;
    ReportedLosses losses;
    std::uint64_t unacknowledged_since_ns = 0;  // arrival of the oldest batch that waits for its group; 0: none waits
    std::uint64_t repeat_after_ns = 0;          // until its acknowledgement is repeated, if nothing happens
    std::list<std::shared_ptr<Session>>::iterator age;  // in one of the table's lists
    bool is_new = true;                                 // in the list new_, else in by_age_
};

using SessionPtr = std::shared_ptr<Session>;

class SessionTable {
public:
    struct Limits {
        std::size_t sessions_max = limits::kGatewaySessionsMax;
        std::size_t size_bytes_max = 0;
        std::size_t known_max = intake_limits::kSessionsKnownMax;
    };

    // `credit` is borrowed: a session that loses its peer returns its credit.
    SessionTable(const Limits& table_limits, CreditAccounts& credit)
        : limits_{table_limits}, credit_{credit}, targets_{table_limits.known_max} {}

    // Remembers that the store has this session: no other target may use its id.
    void remember(SessionId session, TargetId target) { targets_.add(key_of(session), target.value); }

    // Compares `record` with the known session of its id, if there is one. Labels of an enrolment aren't compared: the
    // session keeps those that it began with. Reads the store if the table doesn't have the session. Errors: those of
    // reading, except damage: what can't be read counts as unknown.
    enum class Identity : std::uint8_t { kFree, kSame, kOtherTarget, kOtherRecord };
    enum class Labels : std::uint8_t { kCompared, kEnrolled };
    struct Known {
        Identity identity = Identity::kFree;
        std::optional<SessionRecord> stored;  // if only the store has it
    };
    [[nodiscard]] Result<Known> identity_of(const SessionRecord& record, const StoreReader& store,
                                            Labels labels = Labels::kCompared) const;

    [[nodiscard]] SessionPtr find(SessionId id) const;
    [[nodiscard]] SessionPtr find_peer(std::string_view routing_id) const;

    // Reads the session's progress, if the store has it (`is_stored`). The session must not be in the table.
    [[nodiscard]] static Result<SessionPtr> load(SessionRecord record, bool is_stored, const StoreReader& store);

    // Adds it, forgetting others if the table is full. False: no space, because all others are being stored.
    [[nodiscard]] bool insert(const SessionPtr& session);

    // Attaches the peer to the session, in place of the one before.
    void attach(const SessionPtr& session, std::string_view routing_id);
    // A session that has ended is forgotten with its peer.
    void detach(std::string_view routing_id);

    // Forgets all sessions of the shard's targets, of which none may be in a group. Returns the peers that were
    // attached to them.
    [[nodiscard]] std::vector<std::string> leave_shard(std::uint16_t shard, ShardCount shards);

    // Marks the session as just used.
    void touch(const SessionPtr& session);

    [[nodiscard]] std::size_t peer_count() const { return peers_.size(); }
    [[nodiscard]] std::size_t session_count() const { return sessions_.size(); }
    [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }
    void for_each_peer(const std::function<void(const SessionPtr&)>& visitor) const;

private:
    struct IdHash {
        std::size_t operator()(const SessionId& id) const { return static_cast<std::size_t>(id.high ^ id.low); }
    };
    static std::uint64_t key_of(SessionId session) { return session.high * 0x9e37'79b9'7f4a'7c15ULL ^ session.low; }

    void stop_speaking(const SessionPtr& session);
    void forget(const SessionPtr& session);
    [[nodiscard]] std::list<SessionPtr>& list_of(const Session& session) { return session.is_new ? new_ : by_age_; }
    enum class End : std::uint8_t { kFirst, kLast };
    void move_to(End end, const SessionPtr& session);
    [[nodiscard]] SessionPtr next_to_forget();

    Limits limits_;
    CreditAccounts& credit_;
    std::unordered_map<SessionId, SessionPtr, IdHash> sessions_;
    TextMap<SessionPtr> peers_;
    KnownKeys targets_;  // of stored sessions, by id
    // Both lists: sessions without a peer first, then the least recently used first.
    std::list<SessionPtr> new_;     // nothing of them was stored when they were last used
    std::list<SessionPtr> by_age_;  // the others
    std::size_t size_bytes_ = 0;
};

}  // namespace perfleet
