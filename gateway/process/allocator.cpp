#include "gateway/process/allocator.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace perfleet {

void keep_little_freed_memory() {
#ifdef __GLIBC__
    // Above most batches, below the parts of a memtable. Once it is set, glibc doesn't raise it by itself.
    constexpr int kOwnMappingSizeBytes = 512 << 10;
    constexpr int kTrimSizeBytes = 4 << 20;
    constexpr int kHeapsMax = 4;
    mallopt(M_MMAP_THRESHOLD, kOwnMappingSizeBytes);
    mallopt(M_TRIM_THRESHOLD, kTrimSizeBytes);
    mallopt(M_ARENA_MAX, kHeapsMax);
#endif
}

}  // namespace perfleet
