#include "target-collector/source/linux/opening/kernel_ring.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace perfleet {
namespace {

constexpr std::size_t kKeptSizeBytes = 1U << 20U;  // of idle buffer memory

}  // namespace

std::unique_ptr<KernelRing> KernelRing::map(FileDescriptor fd, std::uint32_t page_count,
                                            std::size_t waiting_size_bytes) {
    const auto page_size_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t size_bytes = (static_cast<std::size_t>(page_count) + 1) * page_size_bytes;
    void* const mapping = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (mapping == MAP_FAILED) {
        return nullptr;
    }
    return std::unique_ptr<KernelRing>(new KernelRing(std::move(fd), static_cast<std::byte*>(mapping), size_bytes,
                                                      page_size_bytes, waiting_size_bytes));
}

KernelRing::KernelRing(FileDescriptor fd, std::byte* mapping, std::size_t mapping_size_bytes,
                       std::size_t page_size_bytes, std::size_t waiting_size_bytes)
    : fd_{std::move(fd)},
      mapping_{mapping},
      mapping_size_bytes_{mapping_size_bytes},
      page_size_bytes_{page_size_bytes},
      control_{reinterpret_cast<perf_event_mmap_page*>(mapping)},
      data_{mapping + page_size_bytes},
      size_bytes_{mapping_size_bytes - page_size_bytes},
      waiting_size_bytes_{std::max(size_bytes_ * 2, waiting_size_bytes)},
      waiting_{new std::byte[waiting_size_bytes_]} {}

KernelRing::~KernelRing() { ::munmap(mapping_, mapping_size_bytes_); }

std::size_t KernelRing::fetch() {
    // Pairs with the kernel's barrier between writing records and data_head. Records are aligned to 8, so bytes after
    // the last whole word belong to none.
    const std::uint64_t head = __atomic_load_n(&control_->data_head, __ATOMIC_ACQUIRE) & ~std::uint64_t{7};
    const auto size_bytes = static_cast<std::size_t>(head - tail_);
    if (size_bytes > size_bytes_) {
        has_lost_place_ = true;
    } else if (size_bytes == 0 || size_bytes > waiting_size_bytes_ - end_) {
        return 0;
    } else {
        const auto at = static_cast<std::size_t>(tail_ & (size_bytes_ - 1));
        const std::size_t first = std::min(size_bytes, size_bytes_ - at);
        std::memcpy(waiting_.get() + end_, data_ + at, first);
        std::memcpy(waiting_.get() + end_ + first, data_, size_bytes - first);
        end_ += size_bytes;
        touched_size_bytes_ = std::max(touched_size_bytes_, end_);
    }
    tail_ = head;
    // Pairs with the kernel's read of data_tail before it overwrites the records.
    __atomic_store_n(&control_->data_tail, tail_, __ATOMIC_RELEASE);
    return size_bytes;
}

void KernelRing::show() {
    if (next_ > 0) {
        std::memmove(waiting_.get(), waiting_.get() + next_, end_ - next_);
        end_ -= next_;
        next_ = 0;
    }
    if (touched_size_bytes_ > kKeptSizeBytes && end_ < kKeptSizeBytes) {
        release_memory();
    }
    (void)fetch();
    shown_ = end_;
    skipped_ = skipped_ || has_lost_place_;
    has_lost_place_ = false;
}

// So that memory use shrinks after a burst.
void KernelRing::release_memory() {
    const auto first = reinterpret_cast<std::uintptr_t>(waiting_.get() + kKeptSizeBytes);
    const auto last = reinterpret_cast<std::uintptr_t>(waiting_.get() + touched_size_bytes_);
    const std::uintptr_t begin = (first + page_size_bytes_ - 1) & ~(page_size_bytes_ - 1);
    const std::uintptr_t end = last & ~(page_size_bytes_ - 1);
    if (begin < end) {
        (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
    }
    touched_size_bytes_ = kKeptSizeBytes;
}

std::span<const std::byte> KernelRing::front() {
    const std::size_t unread = unread_bytes();
    if (unread == 0) {
        return {};
    }
    perf::RecordHeader header;
    std::memcpy(&header, waiting_.get() + next_, sizeof(header));
    if (header.size_bytes < sizeof(header) || header.size_bytes > std::min(unread, size_bytes_) ||
        header.size_bytes % 8 != 0) {
        next_ = shown_;
        skipped_ = true;
        return {};
    }
    front_size_bytes_ = header.size_bytes;
    return {waiting_.get() + next_, front_size_bytes_};
}

void KernelRing::pop() { next_ += front_size_bytes_; }

bool KernelRing::take_skipped() {
    const bool skipped = skipped_;
    skipped_ = false;
    return skipped;
}

}  // namespace perfleet
