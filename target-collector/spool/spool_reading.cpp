#include "target-collector/spool/spool_reading.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "schemas/columns/crc32c.h"
#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/message/count_table.h"
#include "target-collector/message/little_endian.h"
#include "target-collector/message/patch.h"
#include "target-collector/spool/record_walk.h"

namespace perfleet {
namespace {

constexpr std::array<char, 8> kMagic{'P', 'F', 'L', 'S', 'P', 'O', 'O', 'L'};
constexpr std::size_t kVersionOffset = 8;
constexpr std::size_t kChecksumOffset = 12;
constexpr std::size_t kBodyOffset = 16;
constexpr std::uint64_t kRecordsSizeBytesMax = std::uint64_t{1} << 36U;

std::uint32_t checksum_of(std::span<const std::byte> head) {
    return crc32c(crc32c(0, head.first(kChecksumOffset)), head.subspan(kBodyOffset, kSpoolHeadSizeBytes - kBodyOffset));
}

bool are_possible(const DeliverySpool::Places& places, std::uint64_t size_bytes) {
    if ((places.tail | places.head | places.wrap_end) % 8 != 0 || places.tail > size_bytes ||
        places.head > size_bytes || places.wrap_end > size_bytes) {
        return false;
    }
    if (places.used_bytes == 0) {
        return true;
    }
    if (places.is_wrapped) {
        return places.head > 0 && places.head <= places.tail && places.tail < places.wrap_end &&
               places.used_bytes == places.wrap_end - places.tail + places.head;
    }
    return places.tail < places.head && places.used_bytes == places.head - places.tail;
}

bool is_counted_by_wire(CountName name) { return name == CountName::kLostSpoolFull || name == CountName::kLostRefused; }

using RowCounts = std::map<Series, std::uint64_t>;

// Produced rows = accounted rows + rows lost by the kill. If more rows are accounted than counted (after a loss of
// power the counts may be older than the rest), the counts are raised.
void finalise(SpoolReading& reading, const SessionCounts& counted, const RowCounts& rows_kept) {
    RowCounts produced;
    for (const CountEntry& entry : counted.entries()) {
        if (entry.name == CountName::kProduced) {
            produced[entry.series] = entry.value;
        }
    }
    RowCounts accounted;
    const auto account = [&](Series series, std::uint64_t rows) {
        const bool is_overflow = !produced.contains(series) && produced.contains(kOverflowSeries);
        accounted[is_overflow ? kOverflowSeries : series] += rows;
    };
    for (const CountEntry& entry : counted.entries()) {
        if (is_counted_by_wire(entry.name) || entry.name == CountName::kLostKilled) {
            continue;
        }
        reading.final_counts.add(entry.series, entry.name, entry.value);
        if (is_loss(entry.name)) {
            account(entry.series, entry.value);
        }
    }
    for (const SessionCounts* table : {&reading.entry.acknowledged, &reading.entry.since_drop, &reading.entry.lost}) {
        for (const CountEntry& entry : table->entries()) {
            account(entry.series, entry.value);
        }
    }
    for (const auto& [series, rows] : rows_kept) {
        account(series, rows);
    }
    for (const auto& [series, rows] : produced) {
        if (const std::uint64_t known = accounted[series]; rows > known && !reading.entry.is_rest_unknown) {
            reading.final_counts.add(series, CountName::kLostKilled, rows - known);
            reading.rows_killed += is_definition(series.kind) ? 0 : rows - known;
        }
    }
    for (const auto& [series, rows] : accounted) {
        if (const std::uint64_t known = produced[series]; rows > known) {
            reading.final_counts.add(series, CountName::kProduced, rows - known);
        }
    }
    if (!reading.entry.has_final) {
        reading.final_counts.add(kOverflowSeries, CountName::kUncleanEnd, 1);
    }
}

// Finds the records that the journal lists as kept, and newer ones after them. If no entry is valid, or the records in
// its place are newer, all valid records count as kept: a gateway that already has one of them says so.
Checked<RowCounts> read_records(std::span<const std::byte> journal, std::span<const std::byte> records,
                                SpoolReading& reading) {
    const bool has_entry = read_journal(journal, reading.entry).ok();
    if (has_entry && are_possible(reading.entry.places, records.size())) {
        RecordWalk walk(records, reading);
        if (walk.walk_kept() && (reading.holes.empty() || walk.newest_seq() <= reading.entry.last_sealed)) {
            return RowCounts{walk.rows_kept()};
        }
    }
    if (!has_entry) {
        reading.entry = JournalEntry{};
        reading.entry.number = 1;
    }
    reading.is_journal_lost = true;
    reading.entry.is_rest_unknown = true;
    reading.holes.clear();
    reading.batch_count = 0;
    RecordWalk walk(records, reading);
    walk.find_places();
    if (!are_possible(reading.entry.places, records.size()) || !walk.walk_kept()) {
        return Fault{ErrorCode::kCorrupt, kSpoolJournalOffset, reading.entry.places.used_bytes};
    }
    return RowCounts{walk.rows_kept()};
}

}  // namespace

void write_spool_head(const SpoolHead& head, std::span<std::byte> into) {
    std::byte* const at = into.data();
    std::memcpy(at, kMagic.data(), kMagic.size());
    store_little_endian(at + kVersionOffset, kSpoolVersion);
    store_little_endian(at + 16, head.ordinal);
    store_little_endian(at + 24, head.session.high);
    store_little_endian(at + 32, head.session.low);
    store_little_endian(at + 40, head.hello_size_bytes);
    store_little_endian(at + 48, head.hello_checksum);
    store_little_endian(at + 52, std::uint32_t{0});
    store_little_endian(at + 56, head.records_size_bytes);
    store_little_endian(at + kChecksumOffset, checksum_of(into));
}

Checked<SpoolHead> read_spool_head(std::span<const std::byte> head_untrusted) {
    if (head_untrusted.size() < kSpoolHeadSizeBytes) {
        return Fault{ErrorCode::kTruncated, head_untrusted.size(), kSpoolHeadSizeBytes};
    }
    const std::byte* const at = head_untrusted.data();
    if (std::memcmp(at, kMagic.data(), kMagic.size()) != 0) {
        return Fault{ErrorCode::kInvalid, 0, load_little_endian<std::uint64_t>(at)};
    }
    if (const auto checksum = load_little_endian<std::uint32_t>(at + kChecksumOffset);
        checksum != checksum_of(head_untrusted)) {
        return Fault{ErrorCode::kCorrupt, kChecksumOffset, checksum};
    }
    if (const auto version = load_little_endian<std::uint32_t>(at + kVersionOffset); version != kSpoolVersion) {
        return Fault{ErrorCode::kUnsupported, kVersionOffset, version};
    }
    SpoolHead head;
    head.ordinal = load_little_endian<std::uint64_t>(at + 16);
    head.session = {load_little_endian<std::uint64_t>(at + 24), load_little_endian<std::uint64_t>(at + 32)};
    head.hello_size_bytes = load_little_endian<std::uint64_t>(at + 40);
    head.hello_checksum = load_little_endian<std::uint32_t>(at + 48);
    head.records_size_bytes = load_little_endian<std::uint64_t>(at + 56);
    if (head.hello_size_bytes > limits::kHelloSizeBytesMax || head.records_size_bytes > kRecordsSizeBytesMax ||
        head.records_size_bytes % 8 != 0) {
        return Fault{ErrorCode::kTooLarge, head.hello_size_bytes, head.records_size_bytes};
    }
    return head;
}

Checked<SpoolHead> read_spool_head(std::span<const std::byte> head_untrusted,
                                   std::span<const std::byte> copy_untrusted) {
    auto first = read_spool_head(head_untrusted);
    if (first.ok() || first.error().code == ErrorCode::kUnsupported) {
        return first;
    }
    auto copy = read_spool_head(copy_untrusted);
    return copy.ok() || copy.error().code == ErrorCode::kUnsupported ? std::move(copy) : std::move(first);
}

Checked<std::unique_ptr<SpoolReading>> read_spool(std::span<const std::byte> file_untrusted) {
    const std::size_t size_bytes = file_untrusted.size();
    const auto part = [&](std::size_t offset) {
        return file_untrusted.subspan(std::min(offset, size_bytes),
                                      std::min(kSpoolHeadSizeBytes, size_bytes - std::min(offset, size_bytes)));
    };
    const auto head = PERFLEET_TRY(read_spool_head(part(0), part(kSpoolHeadCopyOffset)));
    if (size_bytes < head.file_size_bytes()) {
        return Fault{ErrorCode::kTruncated, size_bytes, head.file_size_bytes()};
    }
    auto reading = std::make_unique<SpoolReading>();
    reading->head = head;
    for (const std::uint64_t offset : {std::uint64_t{kSpoolHelloOffset}, head.hello_copy_offset()}) {
        // Checks that the fields exist which are set at each sending.
        const auto bytes = file_untrusted.subspan(offset, head.hello_size_bytes);
        std::vector<std::byte> hello(bytes.begin(), bytes.end());
        if (crc32c(0, hello) == head.hello_checksum && set_hello_state(hello, head.session, Seq{1}).ok()) {
            reading->hello = bytes;
            break;
        }
    }
    if (reading->hello.empty()) {
        return Fault{ErrorCode::kCorrupt, kSpoolHelloOffset, head.hello_checksum};
    }
    const auto counts = std::make_unique<LiveCountsRead>();
    PERFLEET_TRY(read_live_counts(file_untrusted.subspan(kSpoolCountsOffset, kLiveCountsSizeBytes), *counts));
    reading->damaged_count_count = counts->damaged_count;
    const auto records = file_untrusted.subspan(head.records_offset(), head.records_size_bytes);
    const auto rows_kept =
        PERFLEET_TRY(read_records(file_untrusted.subspan(kSpoolJournalOffset, kJournalSizeBytes), records, *reading));
    reading->end_point = reading->entry.has_final ? reading->entry.end_point : counts->last_seen;
    finalise(*reading, counts->counts, rows_kept);
    return reading;
}

void fill_spool_holes(const SpoolReading& reading, std::span<std::byte> records) {
    for (const SpoolHole& hole : reading.holes) {
        SpooledBatch filler;
        filler.seq = hole.seq;
        filler.message_size_bytes = static_cast<std::uint32_t>(hole.size_bytes - sizeof filler);
        filler.resolved_by = 1;
        filler.head_checksum = DeliverySpool::head_checksum_of(filler);
        std::memcpy(records.data() + hole.offset, &filler, sizeof filler);
    }
}

}  // namespace perfleet
