#include "target-collector/wire/delivery_spool.h"

#include <cstring>
#include <new>

#include "schemas/columns/crc32c.h"
#include "schemas/vocabulary/assert.h"
#include "target-collector/message/little_endian.h"

namespace perfleet {

static_assert(sizeof(SealedRecord::Rows) % 8 == 0, "the message behind the rows is aligned to 8");

namespace {

// Field by field, because padding would be undefined.
void store_rows(std::byte* at, const SealedRecord::Rows& rows) {
    store_little_endian(at, static_cast<std::uint16_t>(rows.series.kind));
    store_little_endian(at + 2, rows.series.event.value);
    store_little_endian(at + 4, rows.row_count);
}

}  // namespace

DeliverySpool::DeliverySpool(std::span<std::byte> memory, bool has_checksums)
    : memory_{memory}, has_checksums_{has_checksums} {
    PERFLEET_ASSERT(reinterpret_cast<std::uintptr_t>(memory.data()) % 8 == 0);
}

void DeliverySpool::restore(const Places& places) {
    PERFLEET_ASSERT(used_bytes_ == 0);
    PERFLEET_ASSERT(places.tail <= memory_.size() && places.head <= memory_.size() &&
                    places.wrap_end <= memory_.size());
    tail_ = places.tail;
    head_ = places.head;
    wrap_end_ = places.wrap_end;
    is_wrapped_ = places.is_wrapped;
    used_bytes_ = places.used_bytes;
}

std::uint64_t DeliverySpool::size_bytes_of(std::uint32_t series_count, std::uint64_t message_size_bytes) {
    return sizeof(SpooledBatch) + series_count * sizeof(SealedRecord::Rows) +
           ((message_size_bytes + 7) & ~std::uint64_t{7});
}

std::uint32_t DeliverySpool::head_checksum_of(const SpooledBatch& batch) {
    constexpr std::size_t kBegin = offsetof(SpooledBatch, seq);
    constexpr std::size_t kEnd = offsetof(SpooledBatch, resolved_by);
    return crc32c(0,
                  std::span{reinterpret_cast<const std::byte*>(&batch), sizeof batch}.subspan(kBegin, kEnd - kBegin));
}

SpooledBatch* DeliverySpool::at(std::size_t offset) {
    return std::launder(reinterpret_cast<SpooledBatch*>(memory_.data() + offset));
}

bool DeliverySpool::can_hold(const SealedRecord& record, std::size_t message_size_bytes) const {
    return size_bytes_of(record.series_count, message_size_bytes) <= memory_.size();
}

bool DeliverySpool::has_room_for(const SealedRecord& record, std::size_t message_size_bytes) const {
    const std::size_t needed = size_bytes_of(record.series_count, message_size_bytes);
    if (used_bytes_ == 0) {
        return needed <= memory_.size();
    }
    if (is_wrapped_) {
        return needed <= tail_ - head_;
    }
    return needed <= memory_.size() - head_ || needed <= tail_;
}

std::size_t DeliverySpool::place_for(std::size_t size_bytes) const {
    const bool is_at_begin = used_bytes_ == 0 || (!is_wrapped_ && size_bytes > memory_.size() - head_);
    return is_at_begin ? 0 : head_;
}

bool DeliverySpool::would_overwrite(const SealedRecord& record, std::size_t message_size_bytes,
                                    std::span<const std::byte> bytes) const {
    const std::size_t size_bytes = size_bytes_of(record.series_count, message_size_bytes);
    const auto begin = reinterpret_cast<std::uintptr_t>(memory_.data() + place_for(size_bytes));
    const auto bytes_begin = reinterpret_cast<std::uintptr_t>(bytes.data());
    return !bytes.empty() && bytes_begin < begin + size_bytes && begin < bytes_begin + bytes.size();
}

SpooledBatch* DeliverySpool::push(const SealedRecord& record, std::span<const std::byte> message) {
    PERFLEET_ASSERT(has_room_for(record, message.size()));
    const std::size_t needed = size_bytes_of(record.series_count, message.size());
    if (used_bytes_ == 0) {
        tail_ = 0;
        head_ = 0;
        is_wrapped_ = false;
    }
    if (!is_wrapped_ && place_for(needed) != head_) {
        wrap_end_ = head_;
        head_ = 0;
        is_wrapped_ = true;
    }
    auto* const batch = new (memory_.data() + head_) SpooledBatch{};
    batch->seq = record.seq;
    batch->report_number = record.report_number;
    batch->epoch = record.epoch;
    batch->series_count = record.series_count;
    batch->message_size_bytes = static_cast<std::uint32_t>(message.size());
    std::byte* const content = memory_.data() + head_ + sizeof(SpooledBatch);
    const std::size_t rows_size_bytes = record.series_count * sizeof(SealedRecord::Rows);
    for (std::uint32_t i = 0; i < record.series_count; ++i) {
        store_rows(content + i * sizeof(SealedRecord::Rows), record.rows[i]);
    }
    std::memcpy(content + rows_size_bytes, message.data(), message.size());
    if (has_checksums_) {
        batch->content_checksum = crc32c(0, std::span{content, rows_size_bytes + message.size()});
        batch->head_checksum = head_checksum_of(*batch);
    }
    head_ += needed;
    used_bytes_ += needed;
    return batch;
}

SpooledBatch* DeliverySpool::front() { return used_bytes_ == 0 ? nullptr : at(tail_); }

SpooledBatch* DeliverySpool::next(SpooledBatch* batch) {
    const auto offset = static_cast<std::size_t>(reinterpret_cast<std::byte*>(batch) - memory_.data());
    const std::size_t end = offset + size_bytes_of(batch->series_count, batch->message_size_bytes);
    if (is_wrapped_ && end == wrap_end_) {
        return at(0);
    }
    return end == head_ ? nullptr : at(end);
}

void DeliverySpool::pop_front() {
    PERFLEET_ASSERT(used_bytes_ > 0);
    const std::size_t size = size_bytes_of(at(tail_)->series_count, at(tail_)->message_size_bytes);
    tail_ += size;
    used_bytes_ -= size;
    if (is_wrapped_ && tail_ == wrap_end_) {
        tail_ = 0;
        is_wrapped_ = false;
    }
}

std::span<const SealedRecord::Rows> DeliverySpool::rows_of(const SpooledBatch& batch) {
    return {std::launder(reinterpret_cast<const SealedRecord::Rows*>(&batch + 1)), batch.series_count};
}

std::span<std::byte> DeliverySpool::message_of(SpooledBatch& batch) {
    std::byte* const rows = reinterpret_cast<std::byte*>(&batch + 1);
    return {rows + batch.series_count * sizeof(SealedRecord::Rows), batch.message_size_bytes};
}

}  // namespace perfleet
