// The interface to an engine, which stores ordered bytes. Everything else (keys, values, the meaning of a put) is the
// same on all engines: keyed_store.h.
//
// Threads: get, cursor, visit, refresh and size_bytes at any time by any thread; erase by one thread at a time, beside
// all others; the rest by one thread at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/non_copyable.h"
#include "storage/engine/shard_leases.h"
#include "storage/key/domain.h"
#include "storage/key/key_bytes.h"
#include "storage/model/visit.h"

namespace perfleet {

// The number of the lease under which a shard is written if several processes share a store. An engine with leases
// refuses a write under another number than its domain's own (kConflict), and writes nothing. 0 if one process holds
// the whole store.
using Guard = std::uint64_t;

// Changes that are written together. Values are borrowed until write() returns.
struct Changes {
    struct Put {
        std::string key;
        std::string_view value;
    };
    std::vector<Put> puts;
    std::vector<std::string> deletes;
    bool is_for_drop = false;  // written even if the cluster is full

    [[nodiscard]] bool empty() const { return puts.empty() && deletes.empty(); }
};

// What an engine recovers for, on a disk that may be full.
enum class GoOn : std::uint8_t {
    kToStore,  // the space reserved for drops is kept, or reserved again
    kToDrop,   // the reserved space may be used up
};

// The number in the name of one of an engine's files (file_name.h).
using EngineFile = std::uint64_t;

// A range of keys of which some can't be read.
struct DamagedRange {
    KeyRange keys;
    Error error;                // the engine's error, which names the file
    std::string file;           // only what this file holds in the range is missing; empty: everything
    bool is_file_lost = false;  // the file can't be opened at all
};

// The damage that an engine knows of without reading.
struct KnownDamage {
    // Ranges of files that can't be opened at all. Visits and gets ignore these files, without an error; nothing
    // overwrites their contents, so that the files can be put back.
    std::vector<DamagedRange> lost;
    // Damage seen at opening, one sentence each: a missing file, or a file of the wrong size.
    std::vector<std::string> at_open;
    bool has_lost_logs = false;  // with acknowledged changes in them
};

// The keys and values of a range, ascending. Those of a domain are as they were at one moment since the cursor was
// opened: later writes, erasures and refreshes don't change them. One thread at a time; must end before its engine.
class EngineCursor : NonCopyable {
public:
    virtual ~EngineCursor() = default;

    // Goes to the first key, then to each next one; false at the end. An error ends the cursor, too.
    [[nodiscard]] virtual Result<bool> next() = 0;
    // Makes next() go to the first key that isn't before `first`. Only forward; not after an error.
    virtual void seek(std::string_view first) = 0;
    // Borrowed until the next call of next(), except that key() stays valid if that fails. Empty: nothing was read
    // since opening or seek().
    [[nodiscard]] std::string_view key() const { return key_; }
    [[nodiscard]] std::string_view value() const { return value_; }

protected:
    std::string key_;
    std::string_view value_;
};

class Engine : NonCopyable {
public:
    virtual ~Engine() = default;

    // Null if the process holds all shards while the engine is open.
    [[nodiscard]] virtual ShardLeases* leases() { return nullptr; }

    // Errors of all reads: kCorrupt (names the key), kIo.
    [[nodiscard]] virtual Result<std::optional<std::string>> get(std::string_view key) const = 0;

    // Reads as if the files in `without` didn't exist: shows what others hold if one is damaged. May show values that
    // the excluded files replace or delete.
    [[nodiscard]] virtual std::unique_ptr<EngineCursor> cursor(const KeyRange& range,
                                                               const std::set<EngineFile>& without) const = 0;
    // Visits the range, ascending by key. Key and value are borrowed until the visitor returns.
    [[nodiscard]] Result<Done> visit(
        const KeyRange& range, const std::function<Visit(std::string_view key, std::string_view value)>& visitor) const;

    // Never null; a new object after refresh() and recover().
    [[nodiscard]] virtual std::shared_ptr<const KnownDamage> damage() const;

    // The partitions with keys, ascending, if the engine knows them without reading keys; else nothing.
    [[nodiscard]] virtual std::optional<std::vector<Partition>> listed_partitions() const { return std::nullopt; }

    [[nodiscard]] virtual Result<Done> refresh() = 0;

    // After a failed write, sync or erase, nothing more is written or synced until this succeeds; reads may fail, too.
    // Continues with what is on disk: all, some or none of the writes since the last sync. False: there was nothing to
    // do. Errors: why it still fails; it may be called again.
    [[nodiscard]] virtual Result<bool> recover(GoOn purpose) = 0;

    // Writes all changes or none; all keys are in this domain. Durable with the next sync(). After a crash a write is
    // present only if all writes before it are.
    [[nodiscard]] virtual Result<Done> write(const Domain& domain, Guard guard, const Changes& changes) = 0;

    // Writes without log, for changes that can be made again, including their deletions. Cheaper, but durable and
    // visible to other readers only with the next flush_unlogged(), or sooner. A crash or recover() may undo it, then
    // together with every later write_unlogged(); writes of write() between them stay. Errors: also kFull while the
    // space reserved for drops is used up.
    [[nodiscard]] virtual Result<Done> write_unlogged(const Domain& domain, Guard guard, const Changes& changes) = 0;
    // By one thread at a time, beside all other calls.
    [[nodiscard]] virtual Result<Done> flush_unlogged() = 0;

    // Gives back the disk space of deleted keys in the range, as far as the disk has space to do so; `is_stopping` as
    // in erase(). The contents of the range don't change. By one thread at a time, beside all other calls.
    [[nodiscard]] virtual Result<Done> reclaim(const KeyRange& range, std::atomic<bool>* is_stopping) = 0;

    // When this returns Done, every earlier write is on disk.
    [[nodiscard]] virtual Result<Done> sync() = 0;

    // Approximate size of the range's keys and values, on disk or until they are written there.
    [[nodiscard]] virtual Result<std::uint64_t> size_bytes(const KeyRange& range) const = 0;

    // Deletes every key of the range, which must not be written any more, and gives back its space; on disk when this
    // returns Done. If the disk has too little space for that, the space is given back later. After a failure or
    // interruption any of the keys may still exist. Another thread may set `is_stopping` (or null) to end it early:
    // then the keys are deleted, and some space isn't given back yet.
    [[nodiscard]] virtual Result<Done> erase(const KeyRange& range, std::atomic<bool>* is_stopping) = 0;
};

}  // namespace perfleet
