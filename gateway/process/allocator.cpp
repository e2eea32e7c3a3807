#include "gateway/process/allocator.h"

#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace perfleet {

void keep_little_freed_memory() {
#ifdef __GLIBC__
    // Beyond most batches, below a memtable's parts. Said once, glibc no longer raises it by itself.
    constexpr int kOwnMappingSizeBytes = 512 << 10;
    constexpr int kTrimSizeBytes = 4 << 20;
    constexpr int kHeapsMax = 4;
    mallopt(M_MMAP_THRESHOLD, kOwnMappingSizeBytes);
    mallopt(M_TRIM_THRESHOLD, kTrimSizeBytes);
    mallopt(M_ARENA_MAX, kHeapsMax);
#endif
}

}  // namespace perfleet
