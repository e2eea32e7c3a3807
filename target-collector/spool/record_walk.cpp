#include "target-collector/spool/record_walk.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "schemas/columns/crc32c.h"
#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/message/patch.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kRecordAlignment = 8;
constexpr std::uint64_t kHoleSizeBytesMax = std::uint64_t{1} << 30U;  // the most that one head can cover

}  // namespace

RecordWalk::RecordWalk(std::span<const std::byte> records, SpoolReading& into)
    : records_{records}, into_{into}, bytes_to_read_{4 * records.size() + limits::kBatchSizeBytesMax} {}

bool RecordWalk::walk_kept() {
    const DeliverySpool::Places places = into_.entry.places;
    if (places.used_bytes > 0 && !(places.is_wrapped ? walk(places.tail, places.wrap_end) && walk(0, places.head)
                                                     : walk(places.tail, places.head))) {
        return false;
    }
    take_next();
    return true;
}

// Takes records that are newer than the journal's entry: after the last one, or at the start of the ring.
void RecordWalk::take_next() {
    DeliverySpool::Places& places = into_.entry.places;
    if (places.used_bytes == 0) {
        places.tail = places.head;
        places.is_wrapped = false;
    } else if (last_seq_ != into_.entry.last_sealed) {
        return;
    }
    const auto next_at = [&](std::uint64_t at, std::uint64_t end) {
        const auto found = whole_record_at(at, end);
        return found && found->seq.value == into_.entry.last_sealed.value + 1 ? found : std::nullopt;
    };
    for (;;) {
        auto found = next_at(places.head, places.is_wrapped ? places.tail : records_.size());
        if (!found && !places.is_wrapped && places.used_bytes > 0 && (found = next_at(0, places.tail))) {
            places.is_wrapped = true;
            places.wrap_end = std::exchange(places.head, 0);
        }
        if (!found) {
            return;
        }
        const std::uint64_t size_bytes = DeliverySpool::size_bytes_of(found->series_count, found->message_size_bytes);
        take(*found, places.head);
        into_.entry.last_sealed = found->seq;
        places.head += size_bytes;
        places.used_bytes += size_bytes;
    }
}

std::vector<RecordWalk::Run> RecordWalk::find_runs() {
    std::vector<Run> runs;
    for (std::uint64_t at = 0; at < records_.size();) {
        const auto found = whole_record_at(at, records_.size());
        if (!found) {
            at += kRecordAlignment;
            continue;
        }
        const std::uint64_t begin = at;
        at += DeliverySpool::size_bytes_of(found->series_count, found->message_size_bytes);
        if (runs.empty() || found->seq <= runs.back().last) {
            runs.push_back({begin, at, found->seq, found->seq});
        }
        runs.back().end = at;
        runs.back().last = found->seq;
    }
    return runs;
}

// The newest records are at the start of the ring; older ones of the previous round may follow them.
void RecordWalk::find_places() {
    const std::vector<Run> runs = find_runs();
    JournalEntry& entry = into_.entry;
    entry.places = {};
    if (runs.empty()) {
        entry.first_kept = Seq{entry.last_sealed.value + 1};
        return;
    }
    const Run& newest = runs.front();
    const bool is_wrapped = runs.size() > 1 && runs[1].last < newest.first;
    const Run& oldest = is_wrapped ? runs[1] : newest;
    entry.first_kept = oldest.first;
    entry.last_sealed = newest.last;
    entry.places.tail = oldest.begin;
    entry.places.head = newest.end;
    entry.places.is_wrapped = is_wrapped;
    entry.places.wrap_end = is_wrapped ? oldest.end : 0;
    entry.places.used_bytes = is_wrapped ? oldest.end - oldest.begin + newest.end : newest.end - newest.begin;
}

Seq RecordWalk::newest_seq() {
    const std::vector<Run> runs = find_runs();
    return runs.empty() ? Seq{} : runs.front().last;
}

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
    auto found = whole_record_at(at, end);
    if (found &&
        (found->seq <= last_seq_ || found->seq < into_.entry.first_kept || found->seq > into_.entry.last_sealed)) {
        return {};
    }
    return found;
}

std::optional<SpooledBatch> RecordWalk::whole_record_at(std::uint64_t at, std::uint64_t end) {
    if (end < at || end - at < sizeof(SpooledBatch)) {
        return {};
    }
    SpooledBatch head;
    std::memcpy(static_cast<void*>(&head), records_.data() + at, offsetof(SpooledBatch, sent_ns));
    if (head.magic != SpooledBatch::kMagic || head.head_checksum != DeliverySpool::head_checksum_of(head) ||
        head.series_count > limits::kBatchSeriesMax || head.message_size_bytes > limits::kBatchSizeBytesMax ||
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
    // The checksum is older than changes by sending: this field, and the message's own checksum.
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
            size_bytes = end - begin;  // the remainder would be too small for a head
        }
        into_.holes.push_back({begin, size_bytes, last_seq_});
        begin += size_bytes;
    }
}

}  // namespace perfleet
