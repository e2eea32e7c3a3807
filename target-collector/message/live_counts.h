// The counts of the source's thread, in memory that outlives the process (a mapped file). A row is counted here when it
// is taken over, not when its batch is sealed, so that counts are complete however the process ends.
//
//   byte 0    u64 number of the last clock point; it stands at 8 + 24 × (number % 2). 0: none yet
//   byte 8    ClockPoint[2]: u64 ticks | i64 utc_ns | u64 uncertainty_ns
//   byte 56   u64 0
//   byte 64   limits::kCountsMax counts of 16 bytes (kept_count.h); those without a name are free
//   byte 16448  u32 count_count | u32 checksum of what follows: a copy, made at each clock point
//   byte 16456  ClockPoint | count_count counts of 16 bytes
//
// Little-endian. The counts have no checksum, because each one is changed alone, by one store. A damaged count differs
// from its copy by more than could be counted between two clock points; then the copy is used. The layout is part of
// the spool's format (target-collector/spool/FORMAT.md): it must not change.
//
// Freestanding; one thread writes. Reading back: read_live_counts().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/non_copyable.h"
#include "schemas/vocabulary/result.h"
#include "schemas/vocabulary/series.h"
#include "schemas/vocabulary/time.h"
#include "target-collector/message/count_table.h"
#include "target-collector/message/kept_count.h"

namespace perfleet {

inline constexpr std::size_t kLiveCountsCopyOffset = 64 + limits::kCountsMax * kKeptCountSizeBytes;
inline constexpr std::size_t kLiveCountsSizeBytes =
    kLiveCountsCopyOffset + 32 + limits::kCountsMax * kKeptCountSizeBytes;

class LiveCounts : NonCopyable {
public:
    // Counts nothing until it has memory.

    // `memory`: kLiveCountsSizeBytes zeros, aligned to 8. Borrowed. Once, before anything is counted.
    void attach(std::span<std::byte> memory);

    void add(Series series, CountName name, std::uint64_t value) {
        if (memory_ != nullptr && value != 0) {
            count(series, name, value);
        }
    }

    // Records that the session was alive at `point`, and copies the counts.
    void set_last_seen(const ClockPoint& point);

private:
    void count(Series series, CountName name, std::uint64_t value);
    // Index of the count; that of the overflow series if there is no space for another.
    [[nodiscard]] std::size_t index_of(std::uint64_t key);

    std::byte* memory_ = nullptr;
    std::array<std::uint64_t, limits::kCountsMax> keys_{};  // as in the memory, for searching
    std::size_t count_ = 0;
    std::size_t last_index_ = 0;
};

struct LiveCountsRead {
    SessionCounts counts;
    ClockPoint last_seen;             // all 0: none
    std::uint32_t damaged_count = 0;  // counts that were replaced by their copy, or omitted
};

// Faults: kTruncated.
[[nodiscard]] Checked<Done> read_live_counts(std::span<const std::byte> memory_untrusted, LiveCountsRead& into);

}  // namespace perfleet
