// A store that one process writes: sealed batches in, blocks out. Engines (RocksDB, memory) stand behind it and pass
// one conformance suite. Opened by storage/store/open_store.h.
//
// Nothing here relies on atomicity beyond one partition.
#pragma once

#include "storage/engine/shard_leases.h"
#include "storage/store/maintenance.h"
#include "storage/store/writer.h"

namespace perfleet {

class Store : public StoreWriter, public StoreMaintenance {
public:
    // Null where all shards are this process's. Else lists, compaction and all that is read here are of the shards that
    // it holds; a change of another one is an error (kUnavailable).
    [[nodiscard]] virtual ShardLeases* leases() = 0;
};

}  // namespace perfleet
