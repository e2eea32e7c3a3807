// A store that one process writes: takes sealed batches, stores blocks. All engines (RocksDB, RADOS, memory) pass one
// conformance suite. Opened by storage/store/open_store.h.
//
// Nothing here relies on atomicity beyond one partition.
#pragma once

#include "storage/engine/shard_leases.h"
#include "storage/store/maintenance.h"
#include "storage/store/writer.h"

namespace perfleet {

class Store : public StoreWriter, public StoreMaintenance {
public:
    // Null if this process has all shards. Else lists, compaction and all reads are limited to the shards that it
    // holds; changes of other shards fail (kUnavailable).
    [[nodiscard]] virtual ShardLeases* leases() = 0;
};

}  // namespace perfleet
