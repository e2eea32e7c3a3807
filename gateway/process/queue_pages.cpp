#include "gateway/process/queue_pages.h"

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <mutex>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define PERFLEET_ALLOCATOR_IS_TAKEN
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define PERFLEET_ALLOCATOR_IS_TAKEN
#endif

#ifndef PERFLEET_ALLOCATOR_IS_TAKEN

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the C library's own names for what is
// replaced here
void __libc_free(void* memory);
void* __libc_memalign(std::size_t alignment, std::size_t size);
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
}

namespace perfleet {
namespace {

constexpr std::size_t kPageSizeBytes = 4'096;
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kPieceSizeBytesMin = 256 * 64 + 1;  // 256 messages, and where the next piece is
constexpr std::size_t kPieceSizeBytesMax = 256 * 64 + kAlignment;
constexpr std::size_t kReservedSizeBytes = kQueuePiecesMax * kPieceSizeBytesMax;

// Stands before main() and after it: other objects allocate and free then, too. So it has no constructor to run.
class QueuePages {
public:
    // Null: there is no room.
    void* take() {
        const std::lock_guard lock{mutex_};
        if (free_ != 0) {
            const std::uint32_t piece = free_;
            free_ = next_[piece - 1];
            ++in_use_;
            return at(piece - 1);
        }
        if (begin_.load(std::memory_order_relaxed) == 0 && !reserve()) {
            return nullptr;
        }
        if (used_ == kQueuePiecesMax) {
            return nullptr;
        }
        ++in_use_;
        return at(used_++);
    }

    [[nodiscard]] bool owns(const void* memory) const {
        const std::uintptr_t begin = begin_.load(std::memory_order_acquire);
        return begin != 0 && reinterpret_cast<std::uintptr_t>(memory) - begin < kReservedSizeBytes;
    }

    void give_back(void* memory) {
        // Pages that it has for itself; those at its ends are shared with its neighbours.
        const auto from = reinterpret_cast<std::uintptr_t>(memory);
        const std::uintptr_t first = (from + kPageSizeBytes - 1) / kPageSizeBytes * kPageSizeBytes;
        const std::uintptr_t last = (from + kPieceSizeBytesMax) / kPageSizeBytes * kPageSizeBytes;
        const int said = errno;
        ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
        errno = said;
        const std::lock_guard lock{mutex_};
        const std::size_t piece = (from - begin_.load(std::memory_order_relaxed)) / kPieceSizeBytesMax;
        next_[piece] = free_;
        free_ = static_cast<std::uint32_t>(piece) + 1;
        --in_use_;
    }

    [[nodiscard]] std::size_t in_use() {
        const std::lock_guard lock{mutex_};
        return in_use_;
    }

private:
    bool reserve() {
        if (is_refused_) {
            return false;
        }
        void* const reserved = ::mmap(nullptr, kReservedSizeBytes, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (reserved == MAP_FAILED) {
            is_refused_ = true;
            return false;
        }
        ::madvise(reserved, kReservedSizeBytes, MADV_NOHUGEPAGE);
        begin_.store(reinterpret_cast<std::uintptr_t>(reserved), std::memory_order_release);
        return true;
    }

    [[nodiscard]] void* at(std::size_t piece) const {
        return reinterpret_cast<void*>(begin_.load(std::memory_order_relaxed) + piece * kPieceSizeBytesMax);
    }

    std::mutex mutex_;
    std::atomic<std::uintptr_t> begin_{0};  // 0: not reserved yet
    bool is_refused_ = false;
    std::size_t used_ = 0;    // pieces that were ever taken
    std::uint32_t free_ = 0;  // the first free one, counted from 1
    std::size_t in_use_ = 0;
    std::array<std::uint32_t, kQueuePiecesMax> next_{};  // free ones; its pages come when they are written
};

constinit QueuePages queue_pages;

}  // namespace

std::size_t queue_pieces_in_use() { return queue_pages.in_use(); }

}  // namespace perfleet

extern "C" int posix_memalign(void** memory, std::size_t alignment, std::size_t size) noexcept {
    if (alignment == perfleet::kAlignment && size >= perfleet::kPieceSizeBytesMin &&
        size <= perfleet::kPieceSizeBytesMax) {
        if (void* const piece = perfleet::queue_pages.take(); piece != nullptr) {
            *memory = piece;
            return 0;
        }
    }
    if (alignment < sizeof(void*) || (alignment & (alignment - 1)) != 0) {
        return EINVAL;
    }
    void* const taken = __libc_memalign(alignment, size);
    if (taken == nullptr) {
        return ENOMEM;
    }
    *memory = taken;
    return 0;
}

extern "C" void free(void* memory) noexcept {
    if (perfleet::queue_pages.owns(memory)) {
        perfleet::queue_pages.give_back(memory);
    } else {
        __libc_free(memory);
    }
}

#else

namespace perfleet {

std::size_t queue_pieces_in_use() { return 0; }

}  // namespace perfleet

#endif
