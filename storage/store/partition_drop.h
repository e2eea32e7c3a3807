// The changes that drop a partition, and the keys that are erased afterwards.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "storage/engine/owned_changes.h"
#include "storage/key/key_bytes.h"
#include "storage/model/keys.h"
#include "storage/read/keyed_reads.h"

namespace perfleet {

struct PartitionDrop {
    OwnedChanges
        changes;  // the mark, the counts of expired rows, and the removal of the sessions' entries for the partition
    std::uint64_t row_count = 0;  // rows that expire, without definitions
};

// Reads the partition's batch records, not its blocks. Valid only while no batch is put there. Errors: those of reads;
// damaged records are left out.
[[nodiscard]] Result<PartitionDrop> make_partition_drop(const KeyedReads& reads, const Partition& partition);

// The keys of these partitions, ascending. Neighbours (shards of one bucket and class) share one range, because every
// erasure has a cost.
[[nodiscard]] std::vector<KeyRange> ranges_of(std::span<const Partition> partitions);

}  // namespace perfleet
