#include "target-collector/spool/record_walk.h"

#include <algorithm>
#include <cstring>

#include "schemas/columns/crc32c.h"
#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/message/patch.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kRecordAlignment = 8;
constexpr std::uint64_t kHoleSizeBytesMax = std::uint64_t{1} << 30U;  // what one head can span

}  // namespace

RecordWalk::RecordWalk(std::span<const std::byte> records, SpoolReading& into)
    : records_{records}, into_{into}, bytes_to_read_{2 * records.size() + limits::kBatchSizeBytesMax} {}

bool RecordWalk::walk(std::uint64_t begin, std::uint64_t end) {
    std::uint64_t at = begin;
    while (at < end) {
        if (end - at < sizeof(SpooledBatch)) {
            return false;
        }
        if (const auto found = record_at(at, end)) {
            take(*found, at);
            at += DeliverySpool::size_bytes_of(found->series_count, found->message_size_bytes);
            continue;
        }
        std::uint64_t next = at + sizeof(SpooledBatch);
        while (next < end && !record_at(next, end)) {
            next += kRecordAlignment;
        }
        add_hole(at, next);
        at = next;
    }
    return true;
}

std::optional<SpooledBatch> RecordWalk::record_at(std::uint64_t at, std::uint64_t end) {
    if (end - at < sizeof(SpooledBatch)) {
        return {};
    }
    SpooledBatch head;
    std::memcpy(static_cast<void*>(&head), records_.data() + at, offsetof(SpooledBatch, sent_ns));
    if (head.magic != SpooledBatch::kMagic || head.head_checksum != DeliverySpool::head_checksum_of(head) ||
        head.series_count > limits::kBatchSeriesMax || head.message_size_bytes > limits::kBatchSizeBytesMax ||
        head.seq <= last_seq_ || head.seq < into_.entry.first_kept || head.seq > into_.entry.last_sealed ||
        DeliverySpool::size_bytes_of(head.series_count, head.message_size_bytes) > end - at ||
        !is_content_whole(head, at)) {
        return {};
    }
    return head;
}

bool RecordWalk::is_content_whole(const SpooledBatch& head, std::uint64_t at) {
    const std::size_t rows_size_bytes = head.series_count * sizeof(SealedRecord::Rows);
    const auto content = records_.subspan(at + sizeof(SpooledBatch), rows_size_bytes + head.message_size_bytes);
    if (content.size() > bytes_to_read_) {
        return false;
    }
    bytes_to_read_ -= content.size();
    for (std::uint32_t i = 0; i < head.series_count; ++i) {
        if (!is_known_kind(static_cast<std::uint8_t>(content[i * sizeof(SealedRecord::Rows)]))) {
            return false;
        }
    }
    // The sum was made before a sending changed this field, and the message's checksum.
    message_.assign(content.begin() + static_cast<std::ptrdiff_t>(rows_size_bytes), content.end());
    return set_oldest_retained_seq(message_, Seq{0}).ok() &&
           crc32c(crc32c(0, content.first(rows_size_bytes)), message_) == head.content_checksum;
}

void RecordWalk::take(const SpooledBatch& head, std::uint64_t at) {
    last_seq_ = head.seq;
    if (head.is_resolved() && head.resolved_by <= into_.entry.number) {
        return;
    }
    ++into_.batch_count;
    for (std::uint32_t i = 0; i < head.series_count; ++i) {
        SealedRecord::Rows rows;
        std::memcpy(static_cast<void*>(&rows), records_.data() + at + sizeof head + i * sizeof rows, sizeof rows);
        rows_kept_[rows.series] += rows.row_count;
    }
}

void RecordWalk::add_hole(std::uint64_t begin, std::uint64_t end) {
    while (begin < end) {
        std::uint64_t size_bytes = std::min(end - begin, kHoleSizeBytesMax);
        if (end - begin - size_bytes < sizeof(SpooledBatch)) {
            size_bytes = end - begin;  // the rest could not hold a head of its own
        }
        into_.holes.push_back({begin, size_bytes, last_seq_});
        begin += size_bytes;
    }
}

}  // namespace perfleet
