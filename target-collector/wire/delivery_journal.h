// The delivery's state in memory that outlives the process (a mapped file): which batches are kept, acknowledged,
// dropped and refused, so that another process can continue exactly.
//
// Two slots, written alternately; the newest whole one is valid. A slot:
//   byte 0    u64 number          1, 2, … kJournalNumberMax; it is in slot number % 2, and nowhere else
//   byte 8    u32 size_bytes      of what follows from byte 16
//   byte 12   u32 checksum        crc32c of bytes 0 to 11 and of what follows
//   byte 16   u64 tail | u64 head | u64 wrap_end | u64 used_bytes        of the spool (delivery_spool.h)
//   byte 48   u64 last_sealed | u64 last_dropped
//   byte 64   u64 end_ticks | i64 end_utc_ns | u64 end_uncertainty_ns    when the source finished
//   byte 88   u32 flags           1: the spool is wrapped; 2: the source has finished, everything sealed is here;
//                                 4: earlier entries were lost, with counts of acknowledged and lost rows
//   byte 92   u32 range_count | u32 acknowledged_count | u32 since_drop_count | u32 lost_count
//   byte 108  u32 kept_seqs       the oldest kept batch is last_sealed + 1 − this; 0: none is kept
//   byte 112  range_count × { u64 first, u64 last }: dropped, not yet reported by an acknowledged batch
//   …         counts of 16 bytes (message/kept_count.h): acknowledged rows (as produced) that no dropped range covers,
//             up to the last drop of an oldest batch and since then; rows lost here
//
// Integers little-endian. The layout is part of the spool's format (target-collector/spool/FORMAT.md): it must not
// change.
//
// Freestanding; one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/columns/seal.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/non_copyable.h"
#include "schemas/vocabulary/result.h"
#include "schemas/vocabulary/series.h"
#include "schemas/vocabulary/time.h"
#include "target-collector/message/count_table.h"
#include "target-collector/wire/delivery_spool.h"

namespace perfleet {

inline constexpr std::size_t kJournalSlotSizeBytes = 64U << 10;
inline constexpr std::size_t kJournalSizeBytes = 2 * kJournalSlotSizeBytes;
inline constexpr std::uint64_t kJournalNumberMax = ~std::uint64_t{0} / 2;  // no session reaches this

// The content of an entry. Borrowed.
struct DeliveryState {
    DeliverySpool::Places places;
    Seq last_sealed;   // of the batches that reached the spool
    Seq last_dropped;  // oldest batch dropped because the spool was full; 0: none
    Seq first_kept;    // of the records at `places`; 0: none
    bool has_final = false;
    bool is_rest_unknown = false;  // counts are incomplete
    ClockPoint end_point;          // has_final
    std::span<const SeqRange> ranges;
    std::span<const CountEntry> acknowledged;
    std::span<const CountEntry> since_drop;
    std::span<const CountEntry> lost;
};

class DeliveryJournal : NonCopyable {
public:
    // `memory`: kJournalSizeBytes, aligned to 8. `last_number`: number of its newest entry.
    explicit DeliveryJournal(std::span<std::byte> memory, std::uint64_t last_number = 0);

    // After this, readers of the memory find this state; before it, the previous one.
    void write(const DeliveryState& state);

    // The number of the next write().
    [[nodiscard]] std::uint64_t next_number() const { return number_ + 1; }

private:
    std::span<std::byte> memory_;
    std::uint64_t number_;
};

// An entry that was read back.
struct JournalEntry {
    std::uint64_t number = 0;
    DeliverySpool::Places places;
    Seq last_sealed;
    Seq last_dropped;
    Seq first_kept;  // last_sealed + 1: none
    bool has_final = false;
    bool is_rest_unknown = false;
    ClockPoint end_point;
    std::array<SeqRange, limits::kDroppedRangesMax> ranges{};
    std::size_t range_count = 0;
    SessionCounts acknowledged;
    SessionCounts since_drop;
    SessionCounts lost;
};

// Reads the newest whole entry. Faults: kTruncated (less memory than a journal has), kCorrupt (no slot is whole).
[[nodiscard]] Checked<Done> read_journal(std::span<const std::byte> memory_untrusted, JournalEntry& into);

}  // namespace perfleet
