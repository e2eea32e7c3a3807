// The interface for reading a store: blocks and records, the same on every engine. For statistics and exporters.
//
// Keys and values: storage/FORMAT.md.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/session/image_content.h"
#include "schemas/session/session_record.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/non_copyable.h"
#include "storage/model/batch.h"
#include "storage/model/keys.h"
#include "storage/model/seq_cursor.h"
#include "storage/model/session_note.h"
#include "storage/model/visit.h"

namespace perfleet {

// Safe for use by several threads at once. Visitors borrow their arguments until they return. Errors: kCorrupt names
// the key of a damaged value; kIo has the engine's message. Damage hides nothing else: visits continue after it and
// report it at the end; lists leave out what is damaged (see damage()).
class StoreReader : NonCopyable {
public:
    virtual ~StoreReader() = default;

    // Set when the store was created.
    [[nodiscard]] virtual ShardCount shards() const = 0;

    // Brings a reader beside a live writer up to date; does nothing for the writer itself.
    [[nodiscard]] virtual Result<Done> refresh() = 0;

    // What the lists below left out since the last refresh(), and damage that a writer saw at opening: one sentence
    // each, which names key or file; at most a few dozen. Any thread.
    [[nodiscard]] virtual std::vector<std::string> damage() const = 0;
    // Whether write-ahead logs are lost, with rows that nothing else in the store mentions.
    [[nodiscard]] virtual bool has_lost_logs() const = 0;

    // Ascending. Includes unreadable partitions if a session is known to be in them.
    [[nodiscard]] virtual Result<std::vector<Partition>> partitions() const = 0;

    // Sessions with rows in the partition, by (target, session). Their records may be larger than memory.
    // session_names() includes sessions whose record is damaged.
    [[nodiscard]] virtual Result<std::vector<SessionRecord>> sessions(const Partition& partition) const = 0;
    [[nodiscard]] virtual Result<std::vector<SessionName>> session_names(const Partition& partition) const = 0;

    // Visits every defined session, with or without rows, once, with one in memory at a time; by (target, session),
    // except sessions whose record is damaged but also stored in a partition: these come last.
    [[nodiscard]] virtual Result<Done> visit_sessions(const std::function<Visit(SessionRecord&&)>& visitor) const = 0;
    // All sessions at once: they may be larger than memory.
    [[nodiscard]] Result<std::vector<SessionRecord>> all_sessions() const;

    // The record of one session; nothing if it was never defined.
    [[nodiscard]] virtual Result<std::optional<SessionRecord>> session(TargetId target, SessionId session) const = 0;

    // The partitions in which the session was defined, ascending.
    [[nodiscard]] virtual Result<std::vector<Partition>> session_partitions(TargetId target,
                                                                            SessionId session) const = 0;

    [[nodiscard]] virtual Result<std::optional<SessionEnd>> session_end(TargetId target, SessionId session) const = 0;

    // Notes, for sessions that have one.
    [[nodiscard]] virtual Result<std::map<SessionName, SessionNote>> session_notes() const = 0;

    // Visits the session's batch records in this partition, ascending by seq, compacted or not. Visits all readable
    // ones even if it returns kCorrupt or kIo.
    [[nodiscard]] virtual Result<Done> visit_batches(const Partition& partition, TargetId target, SessionId session,
                                                     const std::function<Visit(const BatchRecord&)>& visitor) const = 0;

    // The blocks of one series in this partition, ascending by first_seq. Their seqs don't overlap. A cursor returns
    // each batch's rows once, even if blocks are compacted meanwhile; two cursors may return them in different blocks.
    [[nodiscard]] virtual BlockCursor blocks(const Partition& partition, TargetId target, SessionId session,
                                             Series series) const = 0;

    // Size of the session's keys and values in all partitions. Reads all of them.
    [[nodiscard]] virtual Result<std::uint64_t> session_size_bytes(const SessionName& session) const = 0;

    // The summaries of one series in this partition, ascending by first_seq. Lost files cause no gaps: the rows are
    // also in blocks.
    [[nodiscard]] virtual SummaryCursor summaries(const Partition& partition, TargetId target, SessionId session,
                                                  Series series) const = 0;

    // The dictionary of the partition, and the map of an epoch's stacks into it, as stored; nothing if there is none.
    // kCorrupt loses nothing: definitions are also in blocks.
    [[nodiscard]] virtual Result<std::optional<std::string>> dictionary(const Partition& partition) const = 0;
    [[nodiscard]] virtual Result<std::optional<std::string>> stack_map(const StackMapKey& key) const = 0;

    // Rows of this session in dropped partitions: (series, rows), ascending by series.
    [[nodiscard]] virtual Result<std::vector<std::pair<Series, std::uint64_t>>> expired(TargetId target,
                                                                                        SessionId session) const = 0;

    // The newest dropped bucket with rows of this session; nothing if there is none.
    [[nodiscard]] virtual Result<std::optional<BucketNumber>> last_expired_bucket(TargetId target,
                                                                                  SessionId session) const = 0;

    // Every batch up to here is durable or resolved (refused, dropped, expired); Seq{0} for an unknown session.
    [[nodiscard]] virtual Result<Seq> watermark(TargetId target, SessionId session) const = 0;

    // The whole content; nothing if it is missing or incomplete.
    [[nodiscard]] virtual Result<std::optional<ImageContent>> image(std::string_view build_id) const = 0;
    // Whether image() would find it, without decoding it. False if the stored bytes are damaged: a gateway fetches it
    // again.
    [[nodiscard]] virtual Result<bool> has_image(std::string_view build_id) const = 0;
};

}  // namespace perfleet
