// What is written when a partition is dropped, and which keys are erased behind that.
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
    OwnedChanges changes;         // the mark, the counts of expired rows, and what the sessions had there
    std::uint64_t row_count = 0;  // that expire, definitions left out
};

// Reads the partition's batch records, not its blocks. Valid as long as no batch is put there meanwhile. Errors: those
// of reads; damaged records are left out.
[[nodiscard]] Result<PartitionDrop> make_partition_drop(const KeyedReads& reads, const Partition& partition);

// The keys of these partitions, ascending; one range for neighbours (shards of one bucket and class), for every erasure
// has its price.
[[nodiscard]] std::vector<KeyRange> ranges_of(std::span<const Partition> partitions);

}  // namespace perfleet
