#pragma once

#include <cstddef>

namespace perfleet {

// Batches of an import that may wait for the disk at once.
inline constexpr std::size_t kSyncBatches = 64;

// Memory of the store that an import writes to: it reads nothing back, and kept bytes fill any memtable.
inline constexpr std::size_t kImportStoreMemorySizeBytes = 48U << 20;

}  // namespace perfleet
