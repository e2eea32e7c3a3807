// One perf_event ring that the kernel writes and we read: records stay in place until they are consumed; one that wraps
// the end is put together in a bounded buffer.
//
// One thread. A resource: unmapped and closed at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "schemas/perf/perf_event.h"

struct perf_event_mmap_page;

namespace perfleet {

class KernelRing {
public:
    // Maps the ring of the event `fd`, which it owns from now on, also when this fails; `page_count` data pages, a
    // power of two. Empty, with errno, when the kernel refuses.
    [[nodiscard]] static std::unique_ptr<KernelRing> map(int fd, std::uint32_t page_count);
    KernelRing(const KernelRing&) = delete;
    KernelRing& operator=(const KernelRing&) = delete;
    ~KernelRing();

    [[nodiscard]] int fd() const { return fd_; }
    [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }

    // Looks how far the kernel has written.
    void read_head();
    [[nodiscard]] std::size_t unread_bytes() const { return static_cast<std::size_t>(head_ - tail_); }

    // The oldest unread record below the head, contiguous, valid until pop(); empty when there is none. A record whose
    // size can't be right, or a head further off than the ring is large, makes everything up to the head unreadable: it
    // is skipped and reported by take_skipped().
    [[nodiscard]] std::span<const std::byte> front();
    void pop();

    // True once after records had to be skipped.
    [[nodiscard]] bool take_skipped();

    // Gives what was popped back to the kernel.
    void release();

private:
    KernelRing(int fd, std::byte* mapping, std::size_t mapping_size_bytes, std::size_t page_size_bytes);

    int fd_;
    std::byte* mapping_;
    std::size_t mapping_size_bytes_;
    perf_event_mmap_page* control_;
    const std::byte* data_;
    std::size_t size_bytes_;
    std::uint64_t head_ = 0;
    std::uint64_t tail_ = 0;
    std::uint64_t released_ = 0;
    std::size_t front_size_bytes_ = 0;
    bool skipped_ = false;
    std::unique_ptr<std::byte[]> wrapped_;  // a record that wraps; the largest that a 16-bit size can say
};

}  // namespace perfleet
