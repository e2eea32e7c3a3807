// The store: sealed batches in, blocks out. Engines (RocksDB, memory) stand behind these two interfaces and pass one
// conformance suite; blocks are opaque bytes, identical on every engine.
//
// Keys and values: storage/FORMAT.md. Nothing here relies on atomicity beyond one partition.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/day_limits.h"
#include "schemas/vocabulary/dictionary_limits.h"
#include "schemas/vocabulary/error.h"
#include "storage/store/batch.h"
#include "storage/store_limits.h"

namespace perfleet {

enum class PutOutcome : std::uint8_t {
    kStored,
    kDuplicate,  // the same key and seal was there: nothing written
    kConflict,   // the same key with another seal was there: nothing written
    kExpired,    // its partition was dropped by retention: counted, not stored
};

// Visitors return whether they want more.
enum class Visit : std::uint8_t { kContinue, kStop };

// Where a block stands. A session's blocks of one series come in the order of `first_seq`.
struct BlockKey {
    Partition partition;
    TargetId target;
    SessionId session;
    Series series;
    Seq first_seq;

    friend constexpr auto operator<=>(const BlockKey&, const BlockKey&) = default;
};

// How long the cells of a rollup are. Numbers are stored: they must never change.
enum class RollupLevel : std::uint8_t { kMinute = 1, kHour = 2, kDay = 3 };

// What a rollup sums: rows by thread and call chain (storage/rollup/rollup.h), their values (value_rollup.h), or rows
// by thread name and call chain as their content says, over epochs (day_rollup.h; days only).
enum class RollupContent : std::uint8_t { kStacks, kValues, kNamedStacks };

struct RollupKind {
    RollupContent content{};
    RollupLevel level{};

    friend constexpr auto operator<=>(const RollupKind&, const RollupKind&) = default;
};

struct SessionName {
    TargetId target;
    SessionId session;

    friend constexpr auto operator<=>(const SessionName&, const SessionName&) = default;
};

// What a user has said of a session.
struct SessionNote {
    std::string given_name;   // empty: none
    bool is_removed = false;  // its rows count as expired, also those that come later

    friend bool operator==(const SessionNote&, const SessionNote&) = default;
};

inline constexpr std::size_t kGivenNameSizeBytesMax = 64;

// How far one session has come.
struct SessionPrefix {
    TargetId target;
    SessionId session;
    Seq prefix;
};

// Where a rollup stands. A session's rollups of one series and kind come in the order of `first_seq`.
struct RollupKey {
    Partition partition;
    TargetId target;
    SessionId session;
    Series series;
    RollupKind kind;
    Seq first_seq;

    friend constexpr auto operator<=>(const RollupKey&, const RollupKey&) = default;
};

// Where the map of an epoch's stacks into the dictionary of its partition stands.
struct StackMapKey {
    Partition partition;
    TargetId target;
    SessionId session;
    EpochNumber epoch;

    friend constexpr auto operator<=>(const StackMapKey&, const StackMapKey&) = default;
};

// An image's content (kernel symbols, ELF), by build-id; shared by all sessions.
struct ImageContent {
    std::uint16_t type = 0;  // protocol::ImageType
    std::string bytes;
};

// What one step of compaction or rolling up did, in one partition; all zeros when it only read.
struct CompactionStep {
    Partition partition;
    std::uint64_t blocks_in = 0;       // that went into one compacted block; 0 when batch records were compacted
    std::uint64_t batches_in = 0;      // whose records went into one value; 0 when blocks were compacted
    std::uint64_t size_bytes_in = 0;   // keys and values
    std::uint64_t size_bytes_out = 0;  // likewise
    std::uint64_t rollups = 0;         // that were written
    std::uint64_t rollup_rows = 0;     // that are in those of whole hours
    std::uint64_t rollup_bytes = 0;    // keys and values
    std::uint64_t rows_left = 0;       // of which no rollup was made, for it would have saved little
    std::uint64_t dictionaries = 0;    // of partitions that were written
    std::uint64_t stack_maps = 0;      // of epochs, likewise
    std::uint64_t map_bytes = 0;       // of both, keys and values
    std::uint64_t epochs_left = 0;     // without a map: there was no room for their call chains, or they share too few
};

// When a rollup is worth its bytes.
struct RollupPolicy {
    std::uint32_t rows_min = limits::kRollupRowsMin;           // of a series in an epoch that no rollup covers yet
    std::uint32_t rows_per_sum = limits::kRollupRowsPerSum;    // at least, on average
    std::uint32_t sums_max = limits::kRollupSumsMax;           // of one
    std::uint32_t day_hours_min = limits::kRollupDayHoursMin;  // of one of a day; more than 24: none are made
    std::uint32_t day_saving = limits::kRollupDaySaving;       // times its sums are those of its hours, at least
};

// When a dictionary of a partition is worth its bytes, and how much it may hold.
struct DictionaryPolicy {
    std::uint32_t epochs_min = limits::kDictionaryEpochsMin;  // that have a map
    std::uint32_t reuse = limits::kDictionaryReuse;           // their nodes for each of the dictionary, at least
    std::uint32_t nodes_max = limits::kDictionaryNodesMax;    // no more than this limit
};

// Reading. Safe for concurrent use by several threads. What a visitor is given is borrowed until it returns.
// Errors: kCorrupt names the key of a damaged value; kIo what the engine said. Damage hides nothing else: visits go on
// behind it and tell it at the end, and lists leave out what is damaged (see damage()).
class StoreReader {
public:
    StoreReader() = default;
    StoreReader(const StoreReader&) = delete;
    StoreReader& operator=(const StoreReader&) = delete;
    virtual ~StoreReader() = default;

    // Brings a reader that stands beside a live writer up to date; does nothing for the writer itself.
    [[nodiscard]] virtual Result<Done> refresh() = 0;

    // What the lists below had to leave out since the last refresh(), and what a writer saw when it was opened; a
    // sentence each that names key or file; not more than a few dozen. Any thread.
    [[nodiscard]] virtual std::vector<std::string> damage() const { return {}; }
    // Whether write-ahead logs are lost: rows that nothing else here may speak of.
    [[nodiscard]] virtual bool has_lost_logs() const { return false; }

    // Ascending. One that can't be read is among them as long as a session is known to be in it.
    [[nodiscard]] virtual Result<std::vector<Partition>> partitions() const = 0;

    // Sessions with rows in the partition, by (target, session).
    [[nodiscard]] virtual Result<std::vector<SessionRecord>> sessions(const Partition& partition) const = 0;

    // Every session that was ever defined, also without rows, by (target, session). One record for each.
    [[nodiscard]] virtual Result<std::vector<SessionRecord>> all_sessions() const = 0;

    [[nodiscard]] virtual Result<std::optional<SessionEnd>> session_end(TargetId target, SessionId session) const = 0;

    // Of the sessions of which something was said.
    [[nodiscard]] virtual Result<std::map<SessionName, SessionNote>> session_notes() const {
        return std::map<SessionName, SessionNote>{};
    }

    // The session's batch records in this partition, ascending by seq, whether compacted or not: all that are readable,
    // also when it ends in an error of kCorrupt or kIo.
    [[nodiscard]] virtual Result<Done> visit_batches(const Partition& partition, TargetId target, SessionId session,
                                                     const std::function<Visit(const BatchRecord&)>& visitor) const = 0;

    // The blocks of one series in this partition, ascending by first_seq; likewise. Their seqs don't overlap. A visit
    // meets each batch's rows once also while blocks are compacted; two visits may meet them in different blocks.
    [[nodiscard]] virtual Result<Done> visit_blocks(
        const Partition& partition, TargetId target, SessionId session, Series series,
        const std::function<Visit(const BlockKey&, std::string_view block)>& visitor) const = 0;

    // What partitions have of the session, keys and values. Reads all of it.
    [[nodiscard]] virtual Result<std::uint64_t> session_size_bytes(const SessionName&) const {
        return std::uint64_t{0};
    }

    // The rollups of one series and kind in this partition, ascending by first_seq; likewise.
    [[nodiscard]] virtual Result<Done> visit_rollups(
        const Partition&, TargetId, SessionId, Series, RollupKind,
        const std::function<Visit(const RollupKey&, std::string_view rollup)>&) const {
        return Done{};
    }

    // The dictionary of the partition, and the map of an epoch's stacks into it, as they are stored; nothing where
    // there is none. kCorrupt is no loss: definitions are in blocks, too.
    [[nodiscard]] virtual Result<std::optional<std::string>> dictionary(const Partition&) const {
        return std::optional<std::string>{};
    }
    [[nodiscard]] virtual Result<std::optional<std::string>> stack_map(const StackMapKey&) const {
        return std::optional<std::string>{};
    }

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

// Writing. One thread at a time; compact() and drop() may run beside it, each on one thread.
//
// After an error of kFull, kIo or kUnavailable nothing since the last sync() counts: the caller does all of it again,
// also what had gone well, before the next sync(). The store goes on by itself with the next call, once the disk lets
// it.
class Store : public StoreReader {
public:
    // Makes the session known and readable from this partition; before the first put of its rows there. Idempotent;
    // told again with other words (labels, host) the last ones stay. In a dropped partition it only makes the session
    // known. Durable with the next sync(). Errors: kConflict when the session's clock or events are others than before.
    [[nodiscard]] virtual Result<Done> define(const Partition& partition, const SessionRecord& session) = 0;

    // Inserts each batch that is absent; all of one call or none. One outcome a batch, in order; a batch that repeats
    // an earlier one of the same call is judged against that one. A key is looked for in all partitions. What is at or
    // below the watermark is never stored: kConflict when another seal is still there, else kDuplicate; so is a batch
    // that expired before. Durable with the next sync(). Errors: kInvalid (session not defined in the partition), kFull
    // (limits::kStoreSeqsMax batches above the watermark: advance it first).
    [[nodiscard]] virtual Result<std::vector<PutOutcome>> put(const Partition& partition,
                                                              std::span<const AdmittedBatch> batches) = 0;

    // The retention class in which the session is defined in this bucket, or was when its rows there were dropped;
    // nothing where it never was. Whoever puts more rows of that bucket keeps to it, for an epoch lies in one
    // partition. At any time by any thread.
    [[nodiscard]] virtual Result<std::optional<std::uint8_t>> retention_class(TargetId target, SessionId session,
                                                                              BucketNumber bucket) const = 0;

    // Never lowers one; all or none. Each session once. Durable with the next sync().
    [[nodiscard]] virtual Result<Done> advance_watermarks(std::span<const SessionPrefix> prefixes) = 0;
    [[nodiscard]] Result<Done> advance_watermark(TargetId target, SessionId session, Seq prefix);

    // The first end that is told stays. Durable with the next sync().
    [[nodiscard]] virtual Result<Done> end_session(TargetId target, SessionId session, const SessionEnd& end) = 0;

    // Instead of the name that it had; empty: none from now on. Durable when this returns Done. Threads: as drop().
    // Errors: kNotFound, kInvalid (not a name).
    [[nodiscard]] virtual Result<Done> name_session(const SessionName& session, std::string_view given_name);

    // Content of an image, whole; what is there already stays. Durable with the next sync().
    [[nodiscard]] virtual Result<Done> put_image(std::string_view build_id, const ImageContent& content) = 0;

    // Drops everything of the partitions, for ever, also of those that were never there, and remembers their rows as
    // expired; those of damaged batch records can't be counted and stay unexplained. First they are hidden and counted,
    // durably, then erased; the writer is held up for one write each and a sync, but not while rows are counted and
    // erased. Neighbours (shards of one bucket) are erased together, faster than one by one.
    //
    // On a full disk it goes on with StoreOptions::reserve_size_bytes; then nothing is stored, and nothing compacted,
    // until that room is there again.
    //
    // `is_stopping` (or null), once another thread has set it, ends the erasing early. What that or an error leaves is
    // erased by the next drop of the same partitions, or when the store is opened again. Gives the rows that expired
    // now, definitions left out.
    [[nodiscard]] virtual Result<std::uint64_t> drop(std::span<const Partition> partitions,
                                                     std::atomic<bool>* is_stopping) = 0;
    [[nodiscard]] Result<Done> drop(const Partition& partition);

    // Removes all that partitions have of these sessions, for ever, and counts their rows as expired; so are rows that
    // come later. A partition at a time; what an error leaves is removed when it is called again. Durable, and the
    // space given back, when this returns Done. The writer is held up while rows are counted, not while space is given
    // back; threads, `is_stopping` and a full disk: as drop(). Gives the rows that expired now, definitions left out.
    // Errors: kNotFound.
    [[nodiscard]] virtual Result<std::uint64_t> remove_sessions(std::span<const SessionName> sessions,
                                                                std::atomic<bool>* is_stopping);

    // Deletes the images that no session of the store names, none where that can't be known for damage. Not beside
    // sessions that are written to: theirs may come before what names them. Gives their bytes. Durable with the next
    // sync().
    [[nodiscard]] virtual Result<std::uint64_t> remove_unused_images();

    // About what the partitions take, on disk or until they are written there.
    [[nodiscard]] virtual Result<std::uint64_t> size_bytes(std::span<const Partition> partitions) const = 0;

    // When this returns Done, everything before it survives kill -9 and power loss.
    [[nodiscard]] virtual Result<Done> sync() = 0;

    // Compacts what is old enough at this time: small blocks of one series and epoch into blocks of up to
    // limits::kBlockRowsMax rows, batch records of one session into values of up to limits::kCompactedBatchesMax,
    // within one partition, once. Old enough are the batches at or below their session's watermark whose bucket has
    // been over for limits::kCompactionGraceS, or of which StoreOptions::compact_batches have gathered since the store
    // was opened. What is damaged, or has columns or codecs that this build doesn't know, stays as it is.
    //
    // With StoreOptions::rollups those of a bucket that is over are then rolled up (storage/rollup): what no rollup
    // covers yet of samples and tracepoints; and when nothing else waits, what was rolled up of a day that is over.
    //
    // With StoreOptions::dictionaries what call chains the sessions of such a bucket have in common is then told once
    // (storage/dictionary/partition_dictionary.h).
    //
    // Runs until nothing is left to do or `on_step`, which is told each change, stops it; the next call goes on.
    // A step reads, changes and holds the writer up for one block or one value of records. One thread, which may be
    // another than the writer's. What an interruption, a failure or power loss leaves is compacted or isn't, never
    // half. Errors: those of the engine; the next call tries again.
    [[nodiscard]] virtual Result<Done> compact(UtcNs, const std::function<Visit(const CompactionStep&)>&) {
        return Done{};
    }

    // Partitions that wait to be compacted, those with an open bucket included. At any time by any thread.
    [[nodiscard]] virtual std::size_t partitions_to_compact() const { return 0; }
};

// Errors: kInvalid, saying why the text can't be a session's name.
[[nodiscard]] Result<Done> check_given_name(std::string_view text_untrusted);

// Engines. `directory` is created when missing (writer) or must exist (reader).

struct StoreOptions {
    std::size_t memory_size_bytes = limits::kStoreMemorySizeBytes;  // of what was put lately and of what was read
    std::uint32_t compact_batches =
        limits::kCompactedBatchesMax;  // of a session, until they are compacted in an open bucket
    // Of the disk, kept free so that drop() can write its marks when the disk is full; 0: none. While the disk doesn't
    // have that nothing is stored: kFull.
    std::uint64_t reserve_size_bytes = 0;
    std::optional<RollupPolicy> rollups = std::nullopt;           // none: compact() makes none
    std::optional<DictionaryPolicy> dictionaries = std::nullopt;  // likewise
};

// Enough for drop() whatever the write-ahead logs of a store with so much memory hold.
[[nodiscard]] std::uint64_t disk_reserve_size_bytes(std::size_t memory_size_bytes);

// Errors: kBusy (another gateway writes there), kUnsupported (a newer format, named), kPermission, kIo.
[[nodiscard]] Result<std::unique_ptr<Store>> open_rocksdb_store(const std::string& directory,
                                                                const StoreOptions& options = {});

// Reads beside a live writer, or without one. Errors: kNotFound (no store there), else as above.
[[nodiscard]] Result<std::unique_ptr<StoreReader>> open_rocksdb_reader(const std::string& directory);

// Keeps everything in memory; for tests.
[[nodiscard]] std::unique_ptr<Store> make_memory_store(const StoreOptions& options = {});

}  // namespace perfleet
