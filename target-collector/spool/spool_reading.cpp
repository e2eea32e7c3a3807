#include "target-collector/spool/spool_reading.h"

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

// What was produced = what is accounted for + what the kill took. Where more is accounted for than was counted (after a
// loss of power the counts may be older than the rest), the counts are raised.
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
        if (const std::uint64_t known = accounted[series]; rows > known) {
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

Checked<SpoolHead> read_spool_head(std::span<const std::byte> file_untrusted) {
    if (file_untrusted.size() < kChecksumOffset) {
        return Fault{ErrorCode::kTruncated, file_untrusted.size(), kSpoolHeadSizeBytes};
    }
    const std::byte* const at = file_untrusted.data();
    if (std::memcmp(at, kMagic.data(), kMagic.size()) != 0) {
        return Fault{ErrorCode::kInvalid, 0, load_little_endian<std::uint64_t>(at)};
    }
    if (const auto version = load_little_endian<std::uint32_t>(at + kVersionOffset); version != kSpoolVersion) {
        return Fault{ErrorCode::kUnsupported, kVersionOffset, version};
    }
    if (file_untrusted.size() < kSpoolHeadSizeBytes) {
        return Fault{ErrorCode::kTruncated, file_untrusted.size(), kSpoolHeadSizeBytes};
    }
    if (const auto checksum = load_little_endian<std::uint32_t>(at + kChecksumOffset);
        checksum != checksum_of(file_untrusted)) {
        return Fault{ErrorCode::kCorrupt, kChecksumOffset, checksum};
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

Checked<std::unique_ptr<SpoolReading>> read_spool(std::span<const std::byte> file_untrusted) {
    const auto head = PERFLEET_TRY(read_spool_head(file_untrusted));
    if (file_untrusted.size() < head.file_size_bytes()) {
        return Fault{ErrorCode::kTruncated, file_untrusted.size(), head.file_size_bytes()};
    }
    auto reading = std::make_unique<SpoolReading>();
    reading->head = head;
    reading->hello = file_untrusted.subspan(kSpoolHelloOffset, head.hello_size_bytes);
    // The fields that are set at every sending must be there.
    std::vector<std::byte> hello(reading->hello.begin(), reading->hello.end());
    if (crc32c(0, hello) != head.hello_checksum || !set_hello_state(hello, head.session, Seq{1}).ok()) {
        return Fault{ErrorCode::kCorrupt, kSpoolHelloOffset, head.hello_checksum};
    }
    if (const auto done = read_journal(file_untrusted.subspan(kSpoolJournalOffset, kJournalSizeBytes), reading->entry);
        !done.ok()) {
        return Fault{done.error().code, kSpoolJournalOffset + done.error().where, done.error().value};
    }
    const auto counts = std::make_unique<LiveCountsRead>();
    if (const auto done = read_live_counts(file_untrusted.subspan(kSpoolCountsOffset, kLiveCountsSizeBytes), *counts);
        !done.ok()) {
        return Fault{done.error().code, kSpoolCountsOffset + done.error().where, done.error().value};
    }
    const auto records = file_untrusted.subspan(head.records_offset(), head.records_size_bytes);
    const DeliverySpool::Places& places = reading->entry.places;
    RecordWalk walk(records, *reading);
    bool is_possible = are_possible(places, records.size());
    if (is_possible && places.used_bytes > 0) {
        is_possible = places.is_wrapped ? walk.walk(places.tail, places.wrap_end) && walk.walk(0, places.head)
                                        : walk.walk(places.tail, places.head);
    }
    if (!is_possible) {
        return Fault{ErrorCode::kCorrupt, kSpoolJournalOffset, places.used_bytes};
    }
    reading->end_point = reading->entry.has_final ? reading->entry.end_point : counts->last_seen;
    finalise(*reading, counts->counts, walk.rows_kept());
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
