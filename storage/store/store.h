// A store that one process writes: sealed batches in, blocks out. Engines (RocksDB, memory) stand behind it and pass
// one conformance suite. Opened by storage/store/open_store.h.
//
// Nothing here relies on atomicity beyond one partition.
#pragma once

#include "storage/store/maintenance.h"
#include "storage/store/writer.h"

namespace perfleet {

class Store : public StoreWriter, public StoreMaintenance {};

}  // namespace perfleet
