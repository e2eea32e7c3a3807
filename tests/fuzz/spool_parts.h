// The parts of a spool file that have meaning, without the space between them: what the fuzzer changes.
//
//   u8 flags                       1: put the journal's checksums right, 2: those of the records
//   u16 size + Hello               little-endian, as all sizes
//   u16 size + live counts         from their beginning
//   u16 size + first journal slot  from its beginning
//   u16 size + second journal slot
//   records                        to the end
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "schemas/columns/crc32c.h"
#include "target-collector/message/little_endian.h"
#include "target-collector/message/patch.h"
#include "target-collector/spool/spool_reading.h"
#include "tests/fuzz/fuzz_input.h"

namespace perfleet {

inline constexpr std::uint8_t kRightJournalChecksums = 1;
inline constexpr std::uint8_t kRightRecordChecksums = 2;

inline void copy_part(std::string_view part, std::span<std::byte> into) {
    std::memcpy(into.data(), part.data(), std::min(part.size(), into.size()));
}

inline void put_slot_checksum_right(std::span<std::byte> slot) {
    constexpr std::size_t kBody = 16;
    const auto size_bytes = load_little_endian<std::uint32_t>(slot.data() + 8);
    if (size_bytes <= slot.size() - kBody) {
        store_little_endian(slot.data() + 12, crc32c(crc32c(0, slot.first(12)), slot.subspan(kBody, size_bytes)));
    }
}

inline void put_record_checksums_right(std::span<std::byte> records) {
    for (std::size_t at = 0; at + sizeof(SpooledBatch) <= records.size();) {
        SpooledBatch head;
        std::memcpy(static_cast<void*>(&head), records.data() + at, offsetof(SpooledBatch, sent_ns));
        const std::size_t size_bytes = DeliverySpool::size_bytes_of(head.series_count, head.message_size_bytes);
        if (head.magic != SpooledBatch::kMagic || size_bytes > records.size() - at) {
            at += 8;
            continue;
        }
        const auto content = records.subspan(at + sizeof head, head.series_count * 8ULL + head.message_size_bytes);
        std::vector<std::byte> as_sealed(content.begin(), content.end());
        (void)set_oldest_retained_seq(std::span{as_sealed}.subspan(head.series_count * 8ULL), Seq{0});
        head.content_checksum = crc32c(0, as_sealed);
        head.head_checksum = DeliverySpool::head_checksum_of(head);
        std::memcpy(records.data() + at, &head, offsetof(SpooledBatch, resolved_by));
        at += size_bytes;
    }
}

inline std::vector<std::byte> spool_file_of(FuzzInput input) {
    const std::uint8_t flags = input.byte();
    const auto part = [&] { return input.text(input.integer(2)); };
    const std::string_view hello = part();
    const std::string_view counts = part();
    const std::string_view slots[] = {part(), part()};
    const std::string_view records = input.rest_text();
    SpoolHead head;
    head.ordinal = 1;
    head.session = {1, 2};
    head.hello_size_bytes = hello.size();
    head.hello_checksum = crc32c(0, std::as_bytes(std::span{hello.data(), hello.size()}));
    head.records_size_bytes = (records.size() + 7) / 8 * 8;
    std::vector<std::byte> file(head.file_size_bytes());
    const std::span bytes{file};
    write_spool_head(head, bytes.first(kSpoolHeadSizeBytes));
    copy_part(hello, bytes.subspan(kSpoolHelloOffset, hello.size()));
    copy_part(counts, bytes.subspan(kSpoolCountsOffset, kLiveCountsSizeBytes));
    copy_part(records, bytes.subspan(head.records_offset()));
    for (std::size_t i = 0; i < 2; ++i) {
        const auto slot = bytes.subspan(kSpoolJournalOffset + i * kJournalSlotSizeBytes, kJournalSlotSizeBytes);
        copy_part(slots[i], slot);
        if ((flags & kRightJournalChecksums) != 0) {
            put_slot_checksum_right(slot);
        }
    }
    if ((flags & kRightRecordChecksums) != 0) {
        put_record_checksums_right(bytes.subspan(head.records_offset()));
    }
    return file;
}

}  // namespace perfleet
