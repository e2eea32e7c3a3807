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

// The largest Bye with so many counts, and the largest there is.
[[nodiscard]] constexpr std::size_t bye_size_bytes_max(std::size_t entry_count) {
    return 256 + entry_count * 16 + limits::kDroppedRangesMax * 16;
}
inline constexpr std::size_t kByeSizeBytesMax = bye_size_bytes_max(limits::kCountsMax);

// Writes an Envelope with the Bye into `out` and returns its size. Faults: kFull; kTooLarge (counts or ranges past
// their limits).
[[nodiscard]] Checked<std::size_t> write_bye(const ByeDescription& bye, std::span<std::byte> out);

}  // namespace perfleet
