// Decides between two clocks that disagree: the target's own, and its receiver's.
//
// Freestanding.
#pragma once

#include <cstdint>

#include "schemas/vocabulary/time.h"

namespace perfleet {

// 2009-01-01, before perf existed. Clocks without a battery begin in 1970, 1980 or 2000.
inline constexpr UtcNs kClaimedUtcMin{1'230'768'000 * kNsPerSecond};

// Whether a clock that was ever set can show this time.
[[nodiscard]] constexpr bool is_claim(UtcNs utc) { return utc >= kClaimedUtcMin; }

// How long a Hello may have been on its way: the uncertainty of a time derived from its receipt. Within this distance
// of the receiver's time, a live target's own time is more exact and counts.
inline constexpr std::int64_t kReceiptUncertaintyNs = 10 * kNsPerSecond;

[[nodiscard]] constexpr bool are_at_odds(UtcNs claimed, UtcNs received) {
    return claimed < received ? received.value > claimed.value + kReceiptUncertaintyNs
                              : claimed.value > received.value + kReceiptUncertaintyNs;
}

}  // namespace perfleet
