// What is written when a session is removed: first its counts, then partition by partition the end of what is there.
#pragma once

#include <cstdint>
#include <span>

#include "storage/engine/engine.h"
#include "storage/engine/owned_changes.h"
#include "storage/key/key_bytes.h"
#include "storage/model/keys.h"
#include "storage/read/keyed_reads.h"

namespace perfleet {

// The counts of what expires with the session's part of each of these partitions, and the seals of batches that may
// come again: all of the session's shard. Gives the rows, definitions left out. Errors: those of reads; damaged records
// are left out.
[[nodiscard]] Result<std::uint64_t> count_removed(const KeyedReads& reads, const SessionName& session,
                                                  std::span<const Partition> partitions, OwnedChanges& changes);

struct SessionRemoval {
    Changes changes;                  // the end of all that is there, of the partition alone
    bool is_partition_empty = false;  // then: no other session has anything there
};

// Reads the session's batch records and summaries there; blocks only where records are damaged. Valid as long as nobody
// writes to the partition meanwhile. Errors: those of reads.
[[nodiscard]] Result<SessionRemoval> make_session_removal(const Engine& engine, const KeyedReads& reads,
                                                          const Partition& partition, const SessionName& session);

}  // namespace perfleet
