// What a store needs of an engine: ordered bytes. Everything else (keys, values, what a put means) is the same on every
// engine and stands in keyed_store.h.
//
// Threads: get, cursor, visit, refresh and size_bytes at any time by any; erase by one thread at a time, beside all
// others; the rest by one thread at a time.
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
#include "storage/engine/shard_leases.h"
#include "storage/key/domain.h"
#include "storage/key/key_bytes.h"
#include "storage/model/visit.h"

namespace perfleet {

// The number of the lease under which a domain's shard is written, where several processes share a store: an engine
// that has them refuses a write under another one than its domain's own (kConflict), and nothing of it is there. 0
// where one process holds the whole store.
using Guard = std::uint64_t;

// What is written together. Values are borrowed until write() returns.
struct Changes {
    struct Put {
        std::string key;
        std::string_view value;
    };
    std::vector<Put> puts;
    std::vector<std::string> deletes;
    bool is_for_drop = false;  // on a full cluster nothing else is written

    [[nodiscard]] bool empty() const { return puts.empty() && deletes.empty(); }
};

// What an engine is to go on for, on a disk that may be full.
enum class GoOn : std::uint8_t {
    kToStore,  // with the room that is kept for drops still, or again, there
    kToDrop,   // and that room may be used up
};

// Of an engine that keeps its keys in several files, whose names have a number (file_name.h).
using EngineFile = std::uint64_t;

// Keys of which something can't be read, `begin` included, `end` excluded.
struct DamagedRange {
    KeyRange keys;
    Error error;                // what the engine said of them: it names the file
    std::string file;           // only what this one holds of them is missing; empty: everything
    bool is_file_lost = false;  // it can't be opened at all
};

// What an engine knows of its damage without reading anything.
struct KnownDamage {
    // What stood in files that can't be opened at all. Visits and gets go on as if those weren't there, without an
    // error; nothing is written over what they hold, so that they can be put back.
    std::vector<DamagedRange> lost;
    // What was seen when it was opened, a sentence each: a file that is missing, or has another size than it should.
    std::vector<std::string> at_open;
    bool has_lost_logs = false;  // acknowledged changes with them
};

// The keys of a range and their values, ascending; those of a domain as they were at one moment since it was opened:
// what is written, erased or refreshed later changes nothing of it. One thread at a time; ends before its engine.
class EngineCursor {
public:
    EngineCursor() = default;
    EngineCursor(const EngineCursor&) = delete;
    EngineCursor& operator=(const EngineCursor&) = delete;
    virtual ~EngineCursor() = default;

    // To the first key, then to each next one; false behind the last. An error ends it, as that does.
    [[nodiscard]] virtual Result<bool> next() = 0;
    // So that next() goes to the first key that isn't before `first`. Only forward; not after an error.
    virtual void seek(std::string_view first) = 0;
    // Borrowed until next() is called, except that key() stays when that fails. An empty key: nothing was read since
    // the beginning, or seek().
    [[nodiscard]] std::string_view key() const { return key_; }
    [[nodiscard]] std::string_view value() const { return value_; }

protected:
    std::string key_;
    std::string_view value_;
};

class Engine {
public:
    Engine() = default;
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;
    virtual ~Engine() = default;

    // Null where it has all shards, as long as it is open.
    [[nodiscard]] virtual ShardLeases* leases() { return nullptr; }

    // Errors of all reads: kCorrupt, naming the key; kIo.
    [[nodiscard]] virtual Result<std::optional<std::string>> get(std::string_view key) const = 0;

    // As if these files weren't there: where one of them is damaged, what others hold can be read so. What they replace
    // or delete may be among it.
    [[nodiscard]] virtual std::unique_ptr<EngineCursor> cursor(const KeyRange& range,
                                                               const std::set<EngineFile>& without) const = 0;
    // Ascending by key. Key and value are borrowed until the visitor returns.
    [[nodiscard]] Result<Done> visit(
        const KeyRange& range, const std::function<Visit(std::string_view key, std::string_view value)>& visitor) const;

    // Never null; another one after refresh() and recover().
    [[nodiscard]] virtual std::shared_ptr<const KnownDamage> damage() const;

    // The partitions of which it has something, ascending, where it knows them without reading keys; else nothing.
    [[nodiscard]] virtual std::optional<std::vector<Partition>> listed_partitions() const { return std::nullopt; }

    [[nodiscard]] virtual Result<Done> refresh() = 0;

    // After a write, sync or erase has failed nothing more is written or synced until this has succeeded; reads may
    // fail, too. It goes on from what is on disk: of what was written since the last sync that may be all, some or
    // nothing. False when there was nothing to do. Errors: what still hinders it; it can be tried again.
    [[nodiscard]] virtual Result<bool> recover(GoOn purpose) = 0;

    // All or nothing; the keys are all of this domain. Durable with the next sync(); after a crash none is
    // there without all before it.
    [[nodiscard]] virtual Result<Done> write(const Domain& domain, Guard guard, const Changes& changes) = 0;

    // The same for what can be made again, of what it deletes, too: cheaper, but durable, and seen by readers beside,
    // only with the next flush_unlogged(), or sooner. After a crash or recover() it may be undone, then with every
    // write_unlogged() since; what was written between them is not. kFull also where the room that is kept for drops
    // was given up for one, and isn't there again.
    [[nodiscard]] virtual Result<Done> write_unlogged(const Domain& domain, Guard guard, const Changes& changes) = 0;
    // By one thread at a time, beside all others.
    [[nodiscard]] virtual Result<Done> flush_unlogged() = 0;

    // Gives back the space of what write() has deleted in the range, as far as the disk has room for that;
    // `is_stopping` as in erase(). What stands in the range and what it gives stay the same. By one thread at a time,
    // beside all others.
    [[nodiscard]] virtual Result<Done> reclaim(const KeyRange& range, std::atomic<bool>* is_stopping) = 0;

    // Every write before is on disk when this returns Done.
    [[nodiscard]] virtual Result<Done> sync() = 0;

    // About what the range's keys and values take, on disk or until they are written there.
    [[nodiscard]] virtual Result<std::uint64_t> size_bytes(const KeyRange& range) const = 0;

    // Deletes every key of the range, which nobody writes any more, and gives back its space; on disk when this returns
    // Done. Where there is too little room on the disk for giving it back, that comes later. When it fails or is
    // interrupted, any of the keys may still be there. `is_stopping` (or null), once another thread has set it, ends it
    // early: then the keys are gone, and some of their space isn't given back yet.
    [[nodiscard]] virtual Result<Done> erase(const KeyRange& range, std::atomic<bool>* is_stopping) = 0;
};

}  // namespace perfleet
