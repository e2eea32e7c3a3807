// A lock-free ring of byte records for one producer and one consumer: the only lock-free code of the project.
//
// Freestanding. Works in memory that the caller supplies and keeps; never allocates, never blocks. Records are
// contiguous: one that wouldn't fit before the end of the memory starts again at its beginning. Each method names its
// caller: producer or consumer.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/vocabulary/non_copyable.h"

namespace perfleet {

class SpscRing : NonCopyable {
public:
    // `memory`: size a power of two, at least 64 bytes, aligned to 8. Borrowed for the ring's life.
    explicit SpscRing(std::span<std::byte> memory);

    // Producer. Space for a record of up to `size_bytes`, aligned to 8; empty when there is none now. At most one
    // reservation at a time; reserving again replaces it.
    [[nodiscard]] std::span<std::byte> reserve(std::size_t size_bytes);

    // Producer. Publishes the first `size_bytes` of the reservation (1 to what was reserved).
    void commit(std::size_t size_bytes);

    // Consumer. The oldest record, aligned to 8, valid until release(); empty when there is none.
    [[nodiscard]] std::span<const std::byte> acquire();

    // Consumer. Gives back what acquire() returned.
    void release();

    // The largest record that an empty ring of this size always takes.
    [[nodiscard]] static constexpr std::size_t record_size_bytes_max(std::size_t memory_size_bytes) {
        return memory_size_bytes / 2 - 16;
    }

    [[nodiscard]] std::size_t memory_size_bytes() const { return memory_.size(); }

    // Any thread, for statistics: approximately the used bytes, including those skipped before the end of the memory.
    [[nodiscard]] std::uint64_t used_bytes() const {
        const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
        const std::uint64_t head = head_.load(std::memory_order_relaxed);
        return head > tail ? (head - tail < memory_.size() ? head - tail : memory_.size()) : 0;
    }

private:
    static constexpr std::size_t kCacheLineBytes = 64;

    std::span<std::byte> memory_;
    // Positions only grow; their place in memory is position % size. head: written by the producer; tail: by the
    // consumer.
    alignas(kCacheLineBytes) std::atomic<std::uint64_t> head_{0};
    std::uint64_t reserved_at_ = 0;   // producer
    std::size_t reserved_bytes_ = 0;  // producer
    std::uint64_t tail_seen_ = 0;     // producer: last tail read
    alignas(kCacheLineBytes) std::atomic<std::uint64_t> tail_{0};
    std::uint64_t head_seen_ = 0;  // consumer: last head read
};

}  // namespace perfleet
