// Reads what an earlier collector left in a spool file, from bytes in memory. The bytes are untrusted: a damaged or
// hostile file gives faults or holes; nothing outside its bytes is read. Format: FORMAT.md.
//
// Time and memory are bounded by the file's size. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/result.h"
#include "schemas/vocabulary/time.h"
#include "target-collector/message/live_counts.h"
#include "target-collector/wire/delivery_journal.h"

namespace perfleet {

// -- the file's parts -------------------------------------------------------------------------------------------------

inline constexpr std::uint32_t kSpoolVersion = 1;
inline constexpr std::size_t kSpoolCountsOffset = 4'096;
inline constexpr std::size_t kSpoolHeadSizeBytes = 64;
inline constexpr std::size_t kSpoolJournalOffset = 40'960;
inline constexpr std::size_t kSpoolHeadCopyOffset = kSpoolJournalOffset - kSpoolHeadSizeBytes;
inline constexpr std::size_t kSpoolHelloOffset = kSpoolJournalOffset + kJournalSizeBytes;
inline constexpr std::size_t kSpoolPageSizeBytes = 4'096;  // parts begin at its multiples
static_assert(kSpoolCountsOffset + kLiveCountsSizeBytes <= kSpoolHeadCopyOffset);

struct SpoolHead {
    std::uint64_t ordinal = 0;  // sessions of a folder, in the order in which they began
    SessionId session;
    std::uint64_t hello_size_bytes = 0;
    std::uint32_t hello_checksum = 0;  // crc32c, as it was written
    std::uint64_t records_size_bytes = 0;

    [[nodiscard]] std::uint64_t hello_copy_offset() const { return kSpoolHelloOffset + hello_room_bytes(); }
    [[nodiscard]] std::uint64_t records_offset() const { return kSpoolHelloOffset + 2 * hello_room_bytes(); }
    [[nodiscard]] std::uint64_t file_size_bytes() const { return records_offset() + records_size_bytes; }
    [[nodiscard]] std::uint64_t hello_room_bytes() const {
        return (hello_size_bytes + kSpoolPageSizeBytes - 1) / kSpoolPageSizeBytes * kSpoolPageSizeBytes;
    }
};

// `into`: kSpoolHeadSizeBytes.
void write_spool_head(const SpoolHead& head, std::span<std::byte> into);

// Faults: kTruncated, kInvalid (not a spool file), kUnsupported (value: its version; its checksum is right), kCorrupt
// (checksum), kTooLarge (sizes that no collector writes).
[[nodiscard]] Checked<SpoolHead> read_spool_head(std::span<const std::byte> head_untrusted);

// Of the copy if the first head is damaged.
[[nodiscard]] Checked<SpoolHead> read_spool_head(std::span<const std::byte> head_untrusted,
                                                 std::span<const std::byte> copy_untrusted);

// -- its content -----------------------------------------------------------------------------------------------------

// Bytes of the records' memory that hold no whole record.
struct SpoolHole {
    std::uint64_t offset = 0;
    std::uint64_t size_bytes = 0;
    Seq seq;  // of the record before it; 0: it is the first
};

struct SpoolReading {
    SpoolHead head;
    std::span<const std::byte> hello;  // borrowed from the file
    JournalEntry entry;
    std::vector<SpoolHole> holes;
    std::uint64_t batch_count = 0;  // whole ones that wait
    // The session's final counts without those in entry.lost, as counted when it ended. Rows that are neither
    // acknowledged, kept nor lost otherwise are kLostKilled.
    SessionCounts final_counts;
    ClockPoint end_point;
    std::uint64_t rows_killed = 0;  // definitions not counted
    // The journal is lost. Its records were found without it; the fate of the session's other rows is unknown, and none
    // of them counts as killed. A gateway counts those as missing that it doesn't have.
    bool is_journal_lost = false;
    std::uint32_t damaged_count_count = 0;  // of live counts

    [[nodiscard]] bool is_damaged() const { return !holes.empty() || is_journal_lost || damaged_count_count != 0; }
};

// `file_untrusted` has the length that its head states. Faults: those of read_spool_head(); kTruncated, kCorrupt
// (neither Hello nor its copy is whole; `where` is its offset).
[[nodiscard]] Checked<std::unique_ptr<SpoolReading>> read_spool(std::span<const std::byte> file_untrusted);

// Fills the holes with records that count as resolved, so that readers can go from record to record. `records` is that
// memory of the file.
void fill_spool_holes(const SpoolReading& reading, std::span<std::byte> records);

}  // namespace perfleet
