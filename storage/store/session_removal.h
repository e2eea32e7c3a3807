// The changes that remove a session: first its counts, then its data, partition by partition.
#pragma once

#include <cstdint>
#include <span>

#include "storage/engine/engine.h"
#include "storage/engine/owned_changes.h"
#include "storage/model/keys.h"
#include "storage/read/keyed_reads.h"

namespace perfleet {

// Adds the counts of the session's rows in these partitions as expired, and the seals of batches that may come again;
// all changes are of the session's shard. Returns the rows, without definitions. Errors: those of reads; damaged
// records are left out.
[[nodiscard]] Result<std::uint64_t> count_removed(const KeyedReads& reads, const SessionName& session,
                                                  std::span<const Partition> partitions, OwnedChanges& changes);

struct SessionRemoval {
    Changes changes;                  // delete its data; of the partition only
    bool is_partition_empty = false;  // afterwards: no other session has data there
};

// Reads the session's batch records and summaries there; blocks only if records are damaged. Valid only while nobody
// writes to the partition. Errors: those of reads.
[[nodiscard]] Result<SessionRemoval> make_session_removal(const KeyedReads& reads, const Partition& partition,
                                                          const SessionName& session);

}  // namespace perfleet
