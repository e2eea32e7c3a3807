#include "target-collector/ring/spsc_ring.h"

#include <cstring>

#include "schemas/vocabulary/assert.h"

namespace perfleet {
namespace {

// Each record is preceded by its size, 8 bytes; records begin at multiples of 8. kSkip in place of the size: the next
// record is at the beginning of the memory.
constexpr std::size_t kHeaderBytes = 8;
constexpr std::uint64_t kSkip = ~0ULL;

constexpr std::size_t round_up_8(std::size_t size_bytes) { return (size_bytes + 7) & ~std::size_t{7}; }

void store_header(std::byte* at, std::uint64_t value) { std::memcpy(at, &value, sizeof value); }

std::uint64_t load_header(const std::byte* at) {
    std::uint64_t value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
}

}  // namespace

SpscRing::SpscRing(std::span<std::byte> memory) : memory_{memory} {
    PERFLEET_ASSERT(memory.size() >= 64 && (memory.size() & (memory.size() - 1)) == 0);
    PERFLEET_ASSERT(reinterpret_cast<std::uintptr_t>(memory.data()) % 8 == 0);
}

std::span<std::byte> SpscRing::reserve(std::size_t size_bytes) {
    PERFLEET_ASSERT(size_bytes > 0);
    reserved_bytes_ = 0;
    if (size_bytes > memory_.size() - kHeaderBytes) {
        return {};
    }
    const std::uint64_t head = head_.load(std::memory_order_relaxed);  // only this thread writes it
    const std::size_t offset = head & (memory_.size() - 1);
    const std::size_t needed = kHeaderBytes + round_up_8(size_bytes);
    const std::size_t to_end = memory_.size() - offset;
    const std::size_t skipped = needed <= to_end ? 0 : to_end;
    if (head + skipped + needed - tail_seen_ > memory_.size()) {
        // Acquire: partner of the release in release(). The consumer has read the old record before it is overwritten.
        tail_seen_ = tail_.load(std::memory_order_acquire);
        if (head + skipped + needed - tail_seen_ > memory_.size()) {
            return {};
        }
    }
    if (skipped != 0) {
        store_header(memory_.data() + offset, kSkip);
    }
    reserved_at_ = head + skipped;
    reserved_bytes_ = size_bytes;
    return memory_.subspan((reserved_at_ & (memory_.size() - 1)) + kHeaderBytes, size_bytes);
}

void SpscRing::commit(std::size_t size_bytes) {
    PERFLEET_ASSERT(size_bytes > 0 && size_bytes <= reserved_bytes_);
    store_header(memory_.data() + (reserved_at_ & (memory_.size() - 1)), size_bytes);
    reserved_bytes_ = 0;
    // Release: partner of the acquire in acquire(). A reader that sees the new head sees the record, its size, and the
    // skip before it.
    head_.store(reserved_at_ + kHeaderBytes + round_up_8(size_bytes), std::memory_order_release);
}

std::span<const std::byte> SpscRing::acquire() {
    std::uint64_t tail = tail_.load(std::memory_order_relaxed);  // only this thread writes it
    if (tail == head_seen_) {
        // Acquire: partner of the release in commit().
        head_seen_ = head_.load(std::memory_order_acquire);
        if (tail == head_seen_) {
            return {};
        }
    }
    std::size_t offset = tail & (memory_.size() - 1);
    if (load_header(memory_.data() + offset) == kSkip) {
        // A skip is always published together with the record after it.
        offset = 0;
    }
    return memory_.subspan(offset + kHeaderBytes, load_header(memory_.data() + offset));
}

void SpscRing::release() {
    std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    PERFLEET_ASSERT(tail != head_seen_);  // acquire() has returned a record
    std::size_t offset = tail & (memory_.size() - 1);
    if (load_header(memory_.data() + offset) == kSkip) {
        tail += memory_.size() - offset;
        offset = 0;
    }
    tail += kHeaderBytes + round_up_8(load_header(memory_.data() + offset));
    // Release: partner of the acquire in reserve(). Our reads of the record come before the producer's next writes.
    tail_.store(tail, std::memory_order_release);
}

}  // namespace perfleet
