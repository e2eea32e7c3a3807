// One perf_event ring that the kernel writes, and memory of ours that its records wait in: they are fetched from the
// ring as soon as possible, for a small one is full again within a fraction of a millisecond.
//
// Two threads: fetch(), waiting_bytes() and show() exclude each other (RingReader holds a lock), all else belongs to
// the thread that calls show(). A resource: unmapped and closed at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "schemas/host/file_descriptor.h"
#include "schemas/perf/perf_event.h"

struct perf_event_mmap_page;

namespace perfleet {

class KernelRing {
public:
    // Maps the ring of the event `fd`; `page_count` data pages, a power of two. Records wait in `waiting_size_bytes`,
    // or twice the ring's size where that is more. Empty, with errno, when the kernel refuses.
    [[nodiscard]] static std::unique_ptr<KernelRing> map(FileDescriptor fd, std::uint32_t page_count,
                                                         std::size_t waiting_size_bytes = 0);
    KernelRing(const KernelRing&) = delete;
    KernelRing& operator=(const KernelRing&) = delete;
    ~KernelRing();

    [[nodiscard]] int fd() const { return fd_.get(); }
    [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }

    // Fetches what the kernel has written, all or nothing, and gives the ring's room back. How many bytes that were.
    std::size_t fetch();
    // How much of the memory is in use, and how much there is.
    [[nodiscard]] std::size_t waiting_bytes() const { return end_; }
    [[nodiscard]] std::size_t waiting_bytes_max() const { return waiting_size_bytes_; }

    // Makes room, fetches, and makes it all visible to front(). Ends what front() gave.
    void show();
    [[nodiscard]] std::size_t unread_bytes() const { return shown_ - next_; }

    // The oldest unread record, contiguous, valid until show(); empty when there is none. A record whose size can't be
    // right, or a head further off than the ring is large, makes everything up to the head unreadable: it is skipped
    // and reported by take_skipped().
    [[nodiscard]] std::span<const std::byte> front();
    void pop();

    // True once after records had to be skipped.
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
    std::uint64_t tail_ = 0;  // the kernel has its room back up to here

    // Places in `waiting_`: next_ ≤ shown_ ≤ end_.
    std::size_t waiting_size_bytes_;
    std::unique_ptr<std::byte[]> waiting_;
    std::size_t touched_size_bytes_ = 0;  // of waiting_: what takes memory
    std::size_t next_ = 0;
    std::size_t shown_ = 0;
    std::size_t end_ = 0;
    std::size_t front_size_bytes_ = 0;
    bool has_lost_place_ = false;  // fetch() met an impossible head
    bool skipped_ = false;
};

}  // namespace perfleet
