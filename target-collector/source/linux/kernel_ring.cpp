#include "target-collector/source/linux/kernel_ring.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace perfleet {
namespace {

constexpr std::size_t kRecordSizeBytesMax = 65'536;

}  // namespace

std::unique_ptr<KernelRing> KernelRing::map(int fd, std::uint32_t page_count) {
    const auto page_size_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t size_bytes = (static_cast<std::size_t>(page_count) + 1) * page_size_bytes;
    void* const mapping = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapping == MAP_FAILED) {
        const int error = errno;
        ::close(fd);
        errno = error;
        return nullptr;
    }
    return std::unique_ptr<KernelRing>(
        new KernelRing(fd, static_cast<std::byte*>(mapping), size_bytes, page_size_bytes));
}

KernelRing::KernelRing(int fd, std::byte* mapping, std::size_t mapping_size_bytes, std::size_t page_size_bytes)
    : fd_{fd},
      mapping_{mapping},
      mapping_size_bytes_{mapping_size_bytes},
      control_{reinterpret_cast<perf_event_mmap_page*>(mapping)},
      data_{mapping + page_size_bytes},
      size_bytes_{mapping_size_bytes - page_size_bytes},
      wrapped_{new std::byte[kRecordSizeBytesMax]} {}

KernelRing::~KernelRing() {
    ::munmap(mapping_, mapping_size_bytes_);
    ::close(fd_);
}

void KernelRing::read_head() {
    // Pairs with the kernel's barrier between writing records and data_head.
    // Records are aligned to 8: what stands behind the last whole word is none.
    head_ = __atomic_load_n(&control_->data_head, __ATOMIC_ACQUIRE) & ~std::uint64_t{7};
}

std::span<const std::byte> KernelRing::front() {
    if (tail_ == head_) {
        return {};
    }
    const std::size_t unread = unread_bytes();
    const auto at = static_cast<std::size_t>(tail_ & (size_bytes_ - 1));
    perf::RecordHeader header;  // head and tail are aligned to 8, so that it never wraps
    std::memcpy(&header, data_ + at, sizeof(header));
    if (header.size_bytes < sizeof(header) || header.size_bytes > unread || unread > size_bytes_ ||
        header.size_bytes % 8 != 0) {
        tail_ = head_;
        skipped_ = true;
        return {};
    }
    front_size_bytes_ = header.size_bytes;
    if (at + front_size_bytes_ <= size_bytes_) {
        return {data_ + at, front_size_bytes_};
    }
    const std::size_t first = size_bytes_ - at;
    std::memcpy(wrapped_.get(), data_ + at, first);
    std::memcpy(wrapped_.get() + first, data_, front_size_bytes_ - first);
    return {wrapped_.get(), front_size_bytes_};
}

void KernelRing::pop() { tail_ += front_size_bytes_; }

bool KernelRing::take_skipped() {
    const bool skipped = skipped_;
    skipped_ = false;
    return skipped;
}

void KernelRing::release() {
    if (released_ != tail_) {
        // Pairs with the kernel's read of data_tail before it writes over the records.
        __atomic_store_n(&control_->data_tail, tail_, __ATOMIC_RELEASE);
        released_ = tail_;
    }
}

}  // namespace perfleet
