// Reading a store: blocks and records, identical on every engine. What statistics and exporters stand on.
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

#include "schemas/vocabulary/error.h"
#include "storage/model/batch.h"
#include "storage/model/image.h"
#include "storage/model/keys.h"
#include "storage/model/seq_cursor.h"
#include "storage/model/session.h"
#include "storage/model/visit.h"

namespace perfleet {

// Reading. Safe for concurrent use by several threads. What a visitor is given is borrowed until it returns.
// Errors: kCorrupt names the key of a damaged value; kIo what the engine said. Damage hides nothing else: visits go on
// behind it and tell it at the end, and lists leave out what is damaged (see damage()).
class StoreReader {
public:
    StoreReader() = default;
    StoreReader(const StoreReader&) = delete;
    StoreReader& operator=(const StoreReader&) = delete;
    virtual ~StoreReader() = default;

    // Chosen when the store was created.
    [[nodiscard]] virtual ShardCount shards() const = 0;

    // Brings a reader that stands beside a live writer up to date; does nothing for the writer itself.
    [[nodiscard]] virtual Result<Done> refresh() = 0;

    // What the lists below had to leave out since the last refresh(), and what a writer saw when it was opened; a
    // sentence each that names key or file; not more than a few dozen. Any thread.
    [[nodiscard]] virtual std::vector<std::string> damage() const = 0;
    // Whether write-ahead logs are lost: rows that nothing else here may speak of.
    [[nodiscard]] virtual bool has_lost_logs() const = 0;

    // Ascending. One that can't be read is among them as long as a session is known to be in it.
    [[nodiscard]] virtual Result<std::vector<Partition>> partitions() const = 0;

    // Sessions with rows in the partition, by (target, session). Their records may be more than fit into memory; names
    // are also of those whose record is damaged.
    [[nodiscard]] virtual Result<std::vector<SessionRecord>> sessions(const Partition& partition) const = 0;
    [[nodiscard]] virtual Result<std::vector<SessionName>> session_names(const Partition& partition) const = 0;

    // Every session that was ever defined, also without rows, once each and one in memory at a time; by (target,
    // session), but for those whose record is damaged and stands in a partition, too: they come last.
    [[nodiscard]] virtual Result<Done> visit_sessions(const std::function<Visit(SessionRecord&&)>& visitor) const = 0;
    // All of them at once: they may be more than fit into memory.
    [[nodiscard]] Result<std::vector<SessionRecord>> all_sessions() const;

    // The record of one session; nothing where it was never defined.
    [[nodiscard]] virtual Result<std::optional<SessionRecord>> session(TargetId target, SessionId session) const = 0;

    // In which the session was defined, ascending.
    [[nodiscard]] virtual Result<std::vector<Partition>> session_partitions(TargetId target,
                                                                            SessionId session) const = 0;

    [[nodiscard]] virtual Result<std::optional<SessionEnd>> session_end(TargetId target, SessionId session) const = 0;

    // Of the sessions of which something was said.
    [[nodiscard]] virtual Result<std::map<SessionName, SessionNote>> session_notes() const = 0;

    // The session's batch records in this partition, ascending by seq, whether compacted or not: all that are readable,
    // also when it ends in an error of kCorrupt or kIo.
    [[nodiscard]] virtual Result<Done> visit_batches(const Partition& partition, TargetId target, SessionId session,
                                                     const std::function<Visit(const BatchRecord&)>& visitor) const = 0;

    // The blocks of one series in this partition, ascending by first_seq. Their seqs don't overlap. A cursor meets each
    // batch's rows once also while blocks are compacted; two cursors may meet them in different blocks.
    [[nodiscard]] virtual BlockCursor blocks(const Partition& partition, TargetId target, SessionId session,
                                             Series series) const = 0;

    // What partitions have of the session, keys and values. Reads all of it.
    [[nodiscard]] virtual Result<std::uint64_t> session_size_bytes(const SessionName& session) const = 0;

    // The summaries of one series in this partition, ascending by first_seq. Lost files are no gaps: the rows
    // are in blocks, too.
    [[nodiscard]] virtual SummaryCursor summaries(const Partition& partition, TargetId target, SessionId session,
                                                  Series series) const = 0;

    // The dictionary of the partition, and the map of an epoch's stacks into it, as they are stored; nothing where
    // there is none. kCorrupt is no loss: definitions are in blocks, too.
    [[nodiscard]] virtual Result<std::optional<std::string>> dictionary(const Partition& partition) const = 0;
    [[nodiscard]] virtual Result<std::optional<std::string>> stack_map(const StackMapKey& key) const = 0;

    // Rows of dropped partitions, per series, of this session: (series, rows). Ascending by series.
    [[nodiscard]] virtual Result<std::vector<std::pair<Series, std::uint64_t>>> expired(TargetId target,
                                                                                        SessionId session) const = 0;

    // The newest bucket that was dropped with rows of this session; nothing when none was.
    [[nodiscard]] virtual Result<std::optional<BucketNumber>> last_expired_bucket(TargetId target,
                                                                                  SessionId session) const = 0;

    // Every batch up to here is durable or resolved (refused, dropped, expired); Seq{0} for an unknown session.
    [[nodiscard]] virtual Result<Seq> watermark(TargetId target, SessionId session) const = 0;

    // Whole content, or nothing when it is not (entirely) there.
    [[nodiscard]] virtual Result<std::optional<ImageContent>> image(std::string_view build_id) const = 0;
};

}  // namespace perfleet
