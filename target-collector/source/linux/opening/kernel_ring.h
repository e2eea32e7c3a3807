// One perf_event ring, and a buffer for its records: they are fetched from the ring as soon as possible, because a
// small ring is full within a fraction of a millisecond.
//
// Two threads: fetch(), waiting_bytes() and show() must not overlap (RingReader holds a lock); everything else belongs
// to the thread that calls show(). A resource: unmapped and closed by the destructor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "schemas/host/file_descriptor.h"
#include "schemas/perf/perf_event.h"
#include "schemas/vocabulary/non_copyable.h"

struct perf_event_mmap_page;

namespace perfleet {

class KernelRing : NonCopyable {
public:
    // Maps the ring of the event `fd` with `page_count` data pages, a power of two. The buffer has
    // `waiting_size_bytes`, but at least twice the ring's size. Null, with errno, if the kernel refuses.
    [[nodiscard]] static std::unique_ptr<KernelRing> map(FileDescriptor fd, std::uint32_t page_count,
                                                         std::size_t waiting_size_bytes = 0);
    ~KernelRing();

    [[nodiscard]] int fd() const { return fd_.get(); }
    [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }

    // Fetches everything that the kernel has written, if the buffer has space for all, and frees it in the ring.
    // Returns the number of bytes.
    std::size_t fetch();
    // Used and total size of the buffer.
    [[nodiscard]] std::size_t waiting_bytes() const { return end_; }
    [[nodiscard]] std::size_t waiting_bytes_max() const { return waiting_size_bytes_; }

    // Frees read records, fetches, and makes all records visible to front(). Invalidates front()'s result.
    void show();
    [[nodiscard]] std::size_t unread_bytes() const { return shown_ - next_; }

    // The oldest unread record, contiguous, valid until show(); empty if there is none. An impossible record size, or a
    // head further away than the ring's size, makes everything up to the head unreadable: it is skipped and reported by
    // take_skipped().
    [[nodiscard]] std::span<const std::byte> front();
    void pop();

    // True once after records were skipped.
    [[nodiscard]] bool take_skipped();

private:
    KernelRing(FileDescriptor fd, std::byte* mapping, std::size_t mapping_size_bytes, std::size_t page_size_bytes,
               std::size_t waiting_size_bytes);
    void release_memory();

    FileDescriptor fd_;
    std::byte* mapping_;
    std::size_t mapping_size_bytes_;
    std::size_t page_size_bytes_;
    perf_event_mmap_page* control_;
    const std::byte* data_;
    std::size_t size_bytes_;
    std::uint64_t tail_ = 0;  // the kernel may overwrite up to here

    // Places in `waiting_`: next_ ≤ shown_ ≤ end_.
    std::size_t waiting_size_bytes_;
    std::unique_ptr<std::byte[]> waiting_;
    std::size_t touched_size_bytes_ = 0;  // the part of waiting_ that uses memory
    std::size_t next_ = 0;
    std::size_t shown_ = 0;
    std::size_t end_ = 0;
    std::size_t front_size_bytes_ = 0;
    bool has_lost_place_ = false;  // fetch() found an impossible head
    bool skipped_ = false;
};

}  // namespace perfleet
