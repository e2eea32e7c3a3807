#include "target-collector/wire/delivery_journal.h"

#include "schemas/columns/crc32c.h"
#include "schemas/vocabulary/assert.h"
#include "target-collector/message/kept_count.h"
#include "target-collector/message/little_endian.h"

namespace perfleet {
namespace {

constexpr std::size_t kChecksumOffset = 12;
constexpr std::size_t kBodyOffset = 16;
constexpr std::size_t kRangesOffset = 112;
constexpr std::size_t kRangeSizeBytes = 16;
constexpr std::uint64_t kSeqMax = ~std::uint64_t{0} / 2;  // no session gets this far
constexpr std::uint32_t kFlagWrapped = 1;
constexpr std::uint32_t kFlagFinal = 2;
constexpr std::uint32_t kFlagRestUnknown = 4;

static_assert(kRangesOffset + limits::kDroppedRangesMax * kRangeSizeBytes +
                  3 * limits::kCountsMax * kKeptCountSizeBytes <=
              kJournalSlotSizeBytes);

std::uint32_t checksum_of(std::span<const std::byte> slot, std::size_t body_size_bytes) {
    return crc32c(crc32c(0, slot.first(kChecksumOffset)), slot.subspan(kBodyOffset, body_size_bytes));
}

std::byte* store_counts(std::byte* at, std::span<const CountEntry> counts) {
    for (const CountEntry& entry : counts) {
        store_kept_count(at, entry);
        at += kKeptCountSizeBytes;
    }
    return at;
}

// The entry's number; 0 if the entry is damaged, or isn't in the slot of its number (the next entry would overwrite
// it), or has a number above the last one, which no entry could follow.
std::uint64_t number_of(std::span<const std::byte> slot, std::uint64_t index) {
    const auto size_bytes = load_little_endian<std::uint32_t>(slot.data() + 8);
    if (size_bytes < kRangesOffset - kBodyOffset || size_bytes > slot.size() - kBodyOffset ||
        load_little_endian<std::uint32_t>(slot.data() + kChecksumOffset) != checksum_of(slot, size_bytes)) {
        return 0;
    }
    const auto number = load_little_endian<std::uint64_t>(slot.data());
    return number <= kJournalNumberMax && number % 2 == index ? number : 0;
}

bool load_counts(const std::byte*& at, std::uint32_t count, SessionCounts& into) {
    for (std::uint32_t i = 0; i < count; ++i) {
        CountEntry entry;
        if (!load_kept_count(at, entry)) {
            return false;
        }
        into.add(entry.series, entry.name, entry.value);
        at += kKeptCountSizeBytes;
    }
    return true;
}

bool load_ranges(const std::byte*& at, std::uint32_t count, JournalEntry& into) {
    for (std::uint32_t i = 0; i < count; ++i) {
        const SeqRange range{Seq{load_little_endian<std::uint64_t>(at)},
                             Seq{load_little_endian<std::uint64_t>(at + 8)}};
        const bool is_ascending = i == 0 || range.first > into.ranges[i - 1].last;
        if (range.first.value == 0 || range.first > range.last || range.last > into.last_sealed || !is_ascending) {
            return false;
        }
        into.ranges[i] = range;
        at += kRangeSizeBytes;
    }
    into.range_count = count;
    return true;
}

bool load_body(std::span<const std::byte> slot, JournalEntry& into) {
    const std::byte* at = slot.data();
    const auto size_bytes = load_little_endian<std::uint32_t>(at + 8);
    const auto word = [&](std::size_t offset) { return load_little_endian<std::uint64_t>(at + offset); };
    const auto half = [&](std::size_t offset) { return load_little_endian<std::uint32_t>(at + offset); };
    into.number = word(0);
    into.places = {word(16), word(24), word(32), word(40), (half(88) & kFlagWrapped) != 0};
    into.last_sealed = Seq{word(48)};
    into.last_dropped = Seq{word(56)};
    into.end_point = {Ticks{word(64)}, UtcNs{static_cast<std::int64_t>(word(72))}, word(80)};
    into.has_final = (half(88) & kFlagFinal) != 0;
    into.is_rest_unknown = (half(88) & kFlagRestUnknown) != 0;
    if (into.last_sealed.value > kSeqMax || half(108) > into.last_sealed.value) {
        return false;
    }
    into.first_kept = Seq{into.last_sealed.value + 1 - half(108)};
    const std::uint32_t range_count = half(92);
    const std::uint32_t acknowledged_count = half(96);
    const std::uint32_t since_drop_count = half(100);
    const std::uint32_t lost_count = half(104);
    if (range_count > limits::kDroppedRangesMax || acknowledged_count > limits::kCountsMax ||
        since_drop_count > limits::kCountsMax || lost_count > limits::kCountsMax ||
        kRangesOffset - kBodyOffset + range_count * kRangeSizeBytes +
                (acknowledged_count + since_drop_count + lost_count) * kKeptCountSizeBytes !=
            size_bytes) {
        return false;
    }
    at += kRangesOffset;
    return load_ranges(at, range_count, into) && load_counts(at, acknowledged_count, into.acknowledged) &&
           load_counts(at, since_drop_count, into.since_drop) && load_counts(at, lost_count, into.lost);
}

}  // namespace

DeliveryJournal::DeliveryJournal(std::span<std::byte> memory, std::uint64_t last_number)
    : memory_{memory}, number_{last_number} {
    PERFLEET_ASSERT(memory.size() >= kJournalSizeBytes && reinterpret_cast<std::uintptr_t>(memory.data()) % 8 == 0);
}

void DeliveryJournal::write(const DeliveryState& state) {
    ++number_;
    const auto slot = memory_.subspan(number_ % 2 * kJournalSlotSizeBytes, kJournalSlotSizeBytes);
    std::byte* at = slot.data();
    const auto store = [&](std::size_t offset, auto value) { store_little_endian(at + offset, value); };
    store(0, number_);
    store(16, state.places.tail);
    store(24, state.places.head);
    store(32, state.places.wrap_end);
    store(40, state.places.used_bytes);
    store(48, state.last_sealed.value);
    store(56, state.last_dropped.value);
    store(64, state.end_point.ticks.value);
    store(72, state.end_point.utc_ns.value);
    store(80, state.end_point.uncertainty_ns);
    store(88, (state.places.is_wrapped ? kFlagWrapped : 0) | (state.has_final ? kFlagFinal : 0) |
                  (state.is_rest_unknown ? kFlagRestUnknown : 0));
    store(92, static_cast<std::uint32_t>(state.ranges.size()));
    store(96, static_cast<std::uint32_t>(state.acknowledged.size()));
    store(100, static_cast<std::uint32_t>(state.since_drop.size()));
    store(104, static_cast<std::uint32_t>(state.lost.size()));
    const std::uint64_t kept_seqs =
        state.first_kept.value == 0 ? 0 : state.last_sealed.value + 1 - state.first_kept.value;
    PERFLEET_ASSERT(kept_seqs <= ~std::uint32_t{0});
    store(108, static_cast<std::uint32_t>(kept_seqs));
    std::byte* end = at + kRangesOffset;
    for (const SeqRange& range : state.ranges) {
        store_little_endian(end, range.first.value);
        store_little_endian(end + 8, range.last.value);
        end += kRangeSizeBytes;
    }
    end = store_counts(end, state.acknowledged);
    end = store_counts(end, state.since_drop);
    end = store_counts(end, state.lost);
    const auto size_bytes = static_cast<std::uint32_t>(end - at) - static_cast<std::uint32_t>(kBodyOffset);
    store(8, size_bytes);
    store(kChecksumOffset, checksum_of(slot, size_bytes));
}

Checked<Done> read_journal(std::span<const std::byte> memory_untrusted, JournalEntry& into) {
    if (memory_untrusted.size() < kJournalSizeBytes) {
        return Fault{ErrorCode::kTruncated, memory_untrusted.size(), kJournalSizeBytes};
    }
    const auto first = memory_untrusted.first(kJournalSlotSizeBytes);
    const auto second = memory_untrusted.subspan(kJournalSlotSizeBytes, kJournalSlotSizeBytes);
    const std::uint64_t first_number = number_of(first, 0);
    const std::uint64_t second_number = number_of(second, 1);
    if (first_number == 0 && second_number == 0) {
        return Fault{ErrorCode::kCorrupt, 0, 0};
    }
    if (!load_body(first_number > second_number ? first : second, into)) {
        return Fault{ErrorCode::kCorrupt, first_number > second_number ? 0 : kJournalSlotSizeBytes, into.number};
    }
    return Done{};
}

}  // namespace perfleet
