#include "target-collector/message/live_counts.h"

#include <atomic>
#include <bit>
#include <cstring>

#include "schemas/columns/crc32c.h"
#include "schemas/vocabulary/assert.h"

namespace perfleet {
namespace {

static_assert(std::endian::native == std::endian::little, "words are stored as they stand");

constexpr std::size_t kPointsOffset = 8;
constexpr std::size_t kPointSizeBytes = 24;
constexpr std::size_t kCountsOffset = 64;
constexpr std::size_t kKeyOffset = 8;
constexpr std::size_t kCopyBodyOffset = kLiveCountsCopyOffset + 8;
constexpr std::size_t kCopiesOffset = kCopyBodyOffset + kPointSizeBytes;
// More than any source counts from one clock point to the next.
constexpr std::uint64_t kGrowthMax = std::uint64_t{1} << 26U;

constexpr std::size_t kOverflowEntriesMax = CountTable::kOverflowEntriesMax;

// Bytes 8 to 15 of a count, as one word.
constexpr std::uint64_t key_of(Series series, CountName name) {
    return static_cast<std::uint64_t>(name) | std::uint64_t{series.event.value} << 16 |
           static_cast<std::uint64_t>(series.kind) << 32;
}

// A single store, which the compiler neither splits nor moves: a reader after this process's end sees it complete.
void store_word(std::byte* at, std::uint64_t value) {
    std::atomic_ref<std::uint64_t>{*reinterpret_cast<std::uint64_t*>(at)}.store(value, std::memory_order_release);
}

ClockPoint load_point(const std::byte* at) {
    return {Ticks{load_little_endian<std::uint64_t>(at)}, UtcNs{load_little_endian<std::int64_t>(at + 8)},
            load_little_endian<std::uint64_t>(at + 16)};
}

}  // namespace

void LiveCounts::attach(std::span<std::byte> memory) {
    PERFLEET_ASSERT(memory_ == nullptr && memory.size() >= kLiveCountsSizeBytes);
    PERFLEET_ASSERT(reinterpret_cast<std::uintptr_t>(memory.data()) % 8 == 0);
    memory_ = memory.data();
}

void LiveCounts::set_last_seen(const ClockPoint& point) {
    if (memory_ == nullptr) {
        return;
    }
    const std::uint64_t number = load_little_endian<std::uint64_t>(memory_) + 1;
    std::byte* const at = memory_ + kPointsOffset + kPointSizeBytes * (number % 2);
    store_little_endian(at, point.ticks.value);
    store_little_endian(at + 8, point.utc_ns.value);
    store_little_endian(at + 16, point.uncertainty_ns);
    store_word(memory_, number);
    const std::size_t size_bytes = count_ * kKeptCountSizeBytes;
    std::memcpy(memory_ + kCopyBodyOffset, at, kPointSizeBytes);
    std::memcpy(memory_ + kCopiesOffset, memory_ + kCountsOffset, size_bytes);
    store_little_endian(memory_ + kLiveCountsCopyOffset, static_cast<std::uint32_t>(count_));
    store_little_endian(memory_ + kLiveCountsCopyOffset + 4,
                        crc32c(0, std::span{memory_ + kCopyBodyOffset, kPointSizeBytes + size_bytes}));
}

void LiveCounts::count(Series series, CountName name, std::uint64_t value) {
    const std::uint64_t key = key_of(series, name);
    if (last_index_ >= count_ || keys_[last_index_] != key) {
        last_index_ = index_of(key);
    }
    std::byte* const at = memory_ + kCountsOffset + last_index_ * kKeptCountSizeBytes;
    store_word(at, load_little_endian<std::uint64_t>(at) + value);
}

std::size_t LiveCounts::index_of(std::uint64_t key) {
    for (std::size_t i = 0; i < count_; ++i) {
        if (keys_[i] == key) {
            return i;
        }
    }
    const std::uint64_t overflow_key = key_of(kOverflowSeries, static_cast<CountName>(key & 0xffff));
    if (key != overflow_key && count_ >= keys_.size() - kOverflowEntriesMax) {
        return index_of(overflow_key);
    }
    PERFLEET_ASSERT(count_ < keys_.size());
    keys_[count_] = key;
    store_word(memory_ + kCountsOffset + count_ * kKeptCountSizeBytes + kKeyOffset, key);
    return count_++;
}

Checked<Done> read_live_counts(std::span<const std::byte> memory_untrusted, LiveCountsRead& into) {
    if (memory_untrusted.size() < kLiveCountsSizeBytes) {
        return Fault{ErrorCode::kTruncated, memory_untrusted.size(), kLiveCountsSizeBytes};
    }
    const std::byte* const memory = memory_untrusted.data();
    if (const auto number = load_little_endian<std::uint64_t>(memory); number != 0) {
        into.last_seen = load_point(memory + kPointsOffset + kPointSizeBytes * (number % 2));
    }
    std::size_t copied = load_little_endian<std::uint32_t>(memory + kLiveCountsCopyOffset);
    if (copied > limits::kCountsMax ||
        load_little_endian<std::uint32_t>(memory + kLiveCountsCopyOffset + 4) !=
            crc32c(0, memory_untrusted.subspan(kCopyBodyOffset, kPointSizeBytes + copied * kKeptCountSizeBytes))) {
        copied = 0;  // damaged, or the writer was killed during the copy
    } else {
        into.last_seen = load_point(memory + kCopyBodyOffset);
    }
    for (std::size_t i = 0; i < limits::kCountsMax; ++i) {
        const std::byte* const at = memory + kCountsOffset + i * kKeptCountSizeBytes;
        CountEntry copy;
        const bool has_copy = i < copied && load_kept_count(memory + kCopiesOffset + i * kKeptCountSizeBytes, copy);
        if (!has_copy && load_little_endian<std::uint64_t>(at + kKeyOffset) == 0) {
            continue;
        }
        CountEntry entry;
        bool is_whole = load_kept_count(at, entry);
        if (is_whole && copied != 0) {
            is_whole = entry.value - copy.value < kGrowthMax &&
                       (!has_copy || (entry.series == copy.series && entry.name == copy.name));
        }
        if (is_whole || has_copy) {
            const CountEntry& known = is_whole ? entry : copy;
            into.counts.add(known.series, known.name, known.value);
        }
        into.damaged_count += is_whole ? 0 : 1;
    }
    return Done{};
}

}  // namespace perfleet
