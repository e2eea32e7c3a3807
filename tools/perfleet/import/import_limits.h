#pragma once

#include <cstddef>

namespace perfleet {

// Batches of an import that may wait for the disk at once.
inline constexpr std::size_t kSyncBatches = 64;

}  // namespace perfleet
