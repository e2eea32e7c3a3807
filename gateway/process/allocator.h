// Sets up the C library's allocator to return freed memory to the system.
#pragma once

namespace perfleet {

// Call it once, before threads are started. Large blocks (the store's memtables and file buffers) are then mapped and
// unmapped one by one. Threads share a few heaps, because memory is mostly freed by another thread than the one that
// allocated it. By default glibc would keep freed memory. Does nothing with another C library.
void keep_little_freed_memory();

}  // namespace perfleet
