// What becomes of stored rows: dropped, removed, compacted, named. What retention, compaction and control requests
// stand on.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/time.h"
#include "storage/compact/compaction_step.h"
#include "storage/model/keys.h"
#include "storage/model/visit.h"

namespace perfleet {

// Beside the thread that writes: compact() by one thread at a time, all others that change something by one, too.
class StoreMaintenance {
public:
    StoreMaintenance() = default;
    StoreMaintenance(const StoreMaintenance&) = delete;
    StoreMaintenance& operator=(const StoreMaintenance&) = delete;
    virtual ~StoreMaintenance() = default;

    // Instead of the name that it had; empty: none from now on. Durable when this returns Done. Threads: as drop().
    // Errors: kNotFound, kInvalid (not a name).
    [[nodiscard]] virtual Result<Done> name_session(const SessionName& session, std::string_view given_name) = 0;

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
                                                                std::atomic<bool>* is_stopping) = 0;

    // Deletes the images that no session of the store names, none where that can't be known for damage. Not beside
    // sessions that are written to: theirs may come before what names them. Gives their bytes. Durable with the next
    // sync().
    [[nodiscard]] virtual Result<std::uint64_t> remove_unused_images() = 0;

    // About what the partitions take, on disk or until they are written there.
    [[nodiscard]] virtual Result<std::uint64_t> size_bytes(std::span<const Partition> partitions) const = 0;

    // Compacts what is old enough at this time: small blocks of one series and epoch into blocks of up to
    // limits::kBlockRowsMax rows, batch records of one session into values of up to limits::kCompactedBatchesMax,
    // within one partition, once. Old enough are the batches at or below their session's watermark whose bucket has
    // been over for limits::kCompactionGraceS, or of which StoreOptions::compact_batches have gathered since the store
    // was opened. What is damaged, or has columns or codecs that this build doesn't know, stays as it is.
    //
    // With StoreOptions::summaries samples and tracepoints of a day that is over are then summed (storage/summary),
    // when nothing else waits.
    //
    // With StoreOptions::dictionaries what call chains the sessions of such a bucket have in common is then told once
    // (storage/dictionary/partition_dictionary.h).
    //
    // Runs until nothing is left to do or `on_step`, which is told each change, stops it; the next call goes on.
    // A step reads, changes and holds the writer up for one block or one value of records. One thread, which may be
    // another than the writer's. What an interruption, a failure or power loss leaves is compacted or isn't, never
    // half. Errors: those of the engine; the next call tries again.
    [[nodiscard]] virtual Result<Done> compact(UtcNs now,
                                               const std::function<Visit(const CompactionStep&)>& on_step) = 0;

    // Partitions that wait to be compacted, those with an open bucket included. At any time by any thread.
    [[nodiscard]] virtual std::size_t partitions_to_compact() const = 0;
};

}  // namespace perfleet
