// The Bye message: the session's end and its final counts.
//
// Freestanding.
#pragma once

#include <cstddef>
#include <span>

#include "schemas/columns/seal.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/result.h"
#include "schemas/vocabulary/series.h"
#include "schemas/vocabulary/time.h"

namespace perfleet {

struct ByeDescription {
    SessionId session{};
    Seq last_seq{};
    std::span<const CountEntry> counts{};
    std::span<const SeqRange> dropped{};
    ClockPoint end_point{};
};

// Size limits in bytes of a Bye with `entry_count` counts, and of any Bye.
[[nodiscard]] constexpr std::size_t bye_size_bytes_max(std::size_t entry_count) {
    return 256 + entry_count * 16 + limits::kDroppedRangesMax * 16;
}
inline constexpr std::size_t kByeSizeBytesMax = bye_size_bytes_max(limits::kCountsMax);

// Writes an Envelope with the Bye into `out` and returns its size in bytes. Faults: kFull; kTooLarge (too many counts
// or ranges).
[[nodiscard]] Checked<std::size_t> write_bye(const ByeDescription& bye, std::span<std::byte> out);

}  // namespace perfleet
