// Changes of stored rows: dropping, removing, compacting and naming. For retention, compaction and control requests.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/non_copyable.h"
#include "schemas/vocabulary/time.h"
#include "storage/compact/compaction_step.h"
#include "storage/model/keys.h"
#include "storage/model/visit.h"

namespace perfleet {

// May run beside the thread that writes: compact() by one thread at a time, all other changes by one thread at a time.
class StoreMaintenance : NonCopyable {
public:
    virtual ~StoreMaintenance() = default;

    // Replaces the session's name; empty: removes it. Durable when this returns Done. Threads: as drop(). Errors:
    // kNotFound, kInvalid (not a name).
    [[nodiscard]] virtual Result<Done> name_session(const SessionName& session, std::string_view given_name) = 0;

    // Drops the partitions with all contents, forever, and counts their rows as expired; also partitions that never
    // existed. Rows of damaged batch records can't be counted and stay unexplained. First the partitions are hidden and
    // counted, durably, then erased. The writer waits for one write each and a sync, but not for counting and erasing.
    // Neighbours (shards of one bucket) are erased together, which is faster.
    //
    // On a full disk it uses up StoreOptions::reserve_size_bytes; nothing is stored or compacted then until that space
    // is reserved again.
    //
    // `is_stopping` (or null), once another thread sets it, ends the erasing early. The rest, also after an error, is
    // erased by the next drop of the same partitions, or when the store is opened again. Returns the rows that expired
    // in this call, without definitions.
    [[nodiscard]] virtual Result<std::uint64_t> drop(std::span<const Partition> partitions,
                                                     std::atomic<bool>* is_stopping) = 0;
    [[nodiscard]] Result<Done> drop(const Partition& partition);

    // Removes these sessions from all partitions, forever, and counts their rows as expired, also rows that come later.
    // Works partition by partition; after an error call it again to remove the rest. Durable, and the space given back,
    // when this returns Done. The writer waits while rows are counted, but not while space is given back; threads,
    // `is_stopping` and a full disk: as drop(). Returns the rows that expired in this call, without definitions.
    // Errors: kNotFound.
    [[nodiscard]] virtual Result<std::uint64_t> remove_sessions(std::span<const SessionName> sessions,
                                                                std::atomic<bool>* is_stopping) = 0;

    // Deletes the images that no session of the store names; none if damage makes that unknown. Not while sessions are
    // written: their images may come before the rows that name them. Returns the bytes deleted. Durable with the next
    // sync().
    [[nodiscard]] virtual Result<std::uint64_t> remove_unused_images() = 0;

    // Approximate size of the partitions, on disk or until they are written there.
    [[nodiscard]] virtual Result<std::uint64_t> size_bytes(std::span<const Partition> partitions) const = 0;

    // Compacts once what is old enough at `now`, within each partition: small blocks of one series and epoch into
    // blocks of up to limits::kBlockRowsMax rows, batch records of one session into values of up to
    // limits::kCompactedBatchesMax. Old enough are batches at or below their session's watermark whose bucket ended
    // limits::kCompactionGraceS ago, or of which StoreOptions::compact_batches have gathered since the store was
    // opened. What is damaged, or has unknown columns or codecs, is left as it is.
    //
    // With StoreOptions::summaries it then sums samples and tracepoints of past days (storage/summary), when no other
    // work waits.
    //
    // With StoreOptions::dictionaries it then writes the call chains that the sessions of such a bucket share once
    // (storage/dictionary/partition_dictionary.h).
    //
    // Runs until nothing is left to do or `on_step`, which is called for each change, stops it; the next call
    // continues. A step reads, changes and blocks the writer for one block or one value of records. One thread, which
    // may differ from the writer's. After an interruption, a failure or a power loss, each block or value is either
    // compacted or not, never half. Errors: those of the engine; the next call tries again.
    [[nodiscard]] virtual Result<Done> compact(UtcNs now,
                                               const std::function<Visit(const CompactionStep&)>& on_step) = 0;

    // Partitions that wait to be compacted, including those with an open bucket. At any time by any thread.
    [[nodiscard]] virtual std::size_t partitions_to_compact() const = 0;
};

}  // namespace perfleet
