// The sessions that peers speak for, and which peer speaks for each.
//
// Bounded by count and by the size of their descriptions: sessions are forgotten, and their peers asked to say Hello
// again; first those that nobody speaks for, then those of which nothing is stored, so that a peer that opens many
// doesn't push out those of others; each time the least recently heard of. What is stored of a session is read when its
// peer says Hello, so that memory doesn't grow with the age of the store. One thread.
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
#include "schemas/vocabulary/error.h"
#include "schemas/wire/delivery_limits.h"
#include "schemas/wire/protocol.h"
#include "storage/read/reader.h"

namespace perfleet {

struct Session {
    SessionRecord record;
    std::size_t size_bytes = 0;  // what it takes in memory, about
    bool granted = false;        // the gateway chose its id
    std::string routing_id;      // of the peer that speaks for it; empty: nobody does now

    SeqProgress progress;  // durable or resolved
    SessionMonotonicity monotonicity;
    Seq send_limit;  // last told; never shrinks
    CreditAccount credit;
    bool finished = false;              // the Bye is durable
    bool defined = false;               // the store knows it
    std::vector<Partition> defined_in;  // at most kPartitionsRememberedMax
    std::vector<Partition> chosen;      // for its buckets lately (partition_choice.h); as many

    // Refused batches, for peers that may have missed it: the newest kRefusalsRememberedMax.
    struct Refusal {
        Seq seq;
        protocol::RefusedReason reason{};
    };
    std::deque<Refusal> refusals;

    // Of the group that is being gathered (commit_group.h).
    std::map<std::uint64_t, std::uint32_t> gathered;  // seq to seal
    Seq oldest_retained;
    std::vector<Seq> resolved;  // those that stand there with other content
    bool is_touched = false;
    bool has_end = false;

    bool was_passed_over = false;      // sent something while the store was stuck, which comes again
    bool is_deferred = false;          // since its last Hello
    std::uint64_t ahead_since_ns = 0;  // first of its batches that lay ahead of the gateway's clock; 0: none did
    std::uint64_t ahead_last_ns = 0;
    bool needs_ack = false;
    std::uint64_t acknowledged_ns = 0;
    ReportedLosses losses;
    std::uint64_t unacknowledged_since_ns = 0;          // of the oldest batch that waits for its group; 0: none does
    std::uint64_t repeat_after_ns = 0;                  // of its acknowledgement, when nothing happens
    std::list<std::shared_ptr<Session>>::iterator age;  // in one of the table's lists
    bool is_new = true;                                 // in which
};

using SessionPtr = std::shared_ptr<Session>;

class SessionTable {
public:
    struct Limits {
        std::size_t sessions_max = limits::kGatewaySessionsMax;
        std::size_t size_bytes_max = 0;
        std::size_t known_max = intake_limits::kSessionsKnownMax;
    };

    // `credit` is borrowed: who stops speaking for a session gives its credit back.
    SessionTable(const Limits& table_limits, CreditAccounts& credit)
        : limits_{table_limits}, credit_{credit}, targets_{table_limits.known_max} {}

    // The store has this session: no other target may use its id.
    void remember(SessionId session, TargetId target) { targets_.add(key_of(session), target.value); }

    // Whether `record` may be this session: not when the id is known with another target or description. Labels that
    // come from an enrolment are no part of it: the session keeps those that it began with. Reads the store where the
    // table doesn't have the session. Errors: those of reading, but for damage: what can't be read isn't known.
    enum class Identity : std::uint8_t { kFree, kSame, kOtherTarget, kOtherRecord };
    enum class Labels : std::uint8_t { kCompared, kEnrolled };
    struct Known {
        Identity identity = Identity::kFree;
        std::optional<SessionRecord> stored;  // where only the store has it
    };
    [[nodiscard]] Result<Known> identity_of(const SessionRecord& record, const StoreReader& store,
                                            Labels labels = Labels::kCompared) const;

    [[nodiscard]] SessionPtr find(SessionId id) const;
    [[nodiscard]] SessionPtr find_peer(std::string_view routing_id) const;

    // Reads how far the session came, if the store has it (`is_stored`). It must not be in the table.
    [[nodiscard]] static Result<SessionPtr> load(SessionRecord record, bool is_stored, const StoreReader& store);

    // Puts it in, forgetting others when there are too many. False: no room, everything else is being stored.
    [[nodiscard]] bool insert(const SessionPtr& session);

    // The peer that speaks for it from now on; who did before is forgotten.
    void attach(const SessionPtr& session, std::string_view routing_id);
    // A session that has ended is forgotten with its peer.
    void detach(std::string_view routing_id);

    // Forgets all sessions of its targets, of which none may be in a group; those who spoke for them.
    [[nodiscard]] std::vector<std::string> leave_shard(std::uint16_t shard, ShardCount shards);

    // It was heard of.
    void touch(const SessionPtr& session);

    [[nodiscard]] std::size_t peer_count() const { return peers_.size(); }
    [[nodiscard]] std::size_t session_count() const { return sessions_.size(); }
    [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }
    void for_each_peer(const std::function<void(const SessionPtr&)>& visitor) const;

private:
    struct IdHash {
        std::size_t operator()(const SessionId& id) const { return static_cast<std::size_t>(id.high ^ id.low); }
    };
    struct TextHash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
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
    std::unordered_map<std::string, SessionPtr, TextHash, std::equal_to<>> peers_;
    KnownKeys targets_;  // of stored sessions, by id
    // Those that nobody speaks for first, then the least recently heard of.
    std::list<SessionPtr> new_;     // nothing of them was stored when they were heard of last
    std::list<SessionPtr> by_age_;  // the others
    std::size_t size_bytes_ = 0;
};

}  // namespace perfleet
