// Which of two clocks counts where they disagree: a target's own, or that of whoever receives it.
//
// Freestanding.
#pragma once

#include <cstdint>

#include "schemas/vocabulary/time.h"

namespace perfleet {

// 2009-01-01, before there was a perf to record with. Clocks without a battery begin in 1970, 1980 or 2000.
inline constexpr UtcNs kClaimedUtcMin{1'230'768'000 * kNsPerSecond};

// Whether a clock that was set at some time can have claimed this.
[[nodiscard]] constexpr bool is_claim(UtcNs utc) { return utc >= kClaimedUtcMin; }

// How long a Hello may have been on its way: the uncertainty of a time that is made of its receipt. A live target's own
// time counts while it lies within this of the receiver's, for it is the more exact one then.
inline constexpr std::int64_t kReceiptUncertaintyNs = 10 * kNsPerSecond;

[[nodiscard]] constexpr bool are_at_odds(UtcNs claimed, UtcNs received) {
    return claimed < received ? received.value > claimed.value + kReceiptUncertaintyNs
                              : claimed.value > received.value + kReceiptUncertaintyNs;
}

}  // namespace perfleet
