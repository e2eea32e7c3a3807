// The C library's allocator, told to give back what is freed.
#pragma once

namespace perfleet {

// To be called once, before there are threads. Large blocks (the store's memtables, its file buffers) come from the
// system one by one and go back when they are freed, and threads share few heaps: what one takes is mostly freed by
// another. Without this glibc keeps what was freed. Does nothing with another C library.
void keep_little_freed_memory();

}  // namespace perfleet
