// What is written when all that one partition has of a session is removed.
#pragma once

#include <cstdint>

#include "storage/engine/engine.h"
#include "storage/engine/owned_changes.h"
#include "storage/key/key.h"
#include "storage/model/keys.h"
#include "storage/read/keyed_reads.h"

namespace perfleet {

struct SessionRemoval {
    OwnedChanges changes;             // the counts of expired rows, and the end of all else
    std::uint64_t row_count = 0;      // that expire, definitions left out
    bool is_partition_empty = false;  // then: no other session has anything there
};

// Reads the session's batch records and rollups there; blocks only where records are damaged. Valid as long as nobody
// writes to the partition meanwhile. Errors: those of reads; damaged records are left out of the counts.
[[nodiscard]] Result<SessionRemoval> make_session_removal(const Engine& engine, const KeyedReads& reads,
                                                          const Partition& partition, const SessionName& session);

}  // namespace perfleet
