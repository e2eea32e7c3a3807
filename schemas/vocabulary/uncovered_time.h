// The counter of time in which a target should have been sampled and wasn't, because its sampling interrupts came late.
// Neither samples nor losses contain the skipped periods.
//
// Freestanding.
#pragma once

#include <string_view>

namespace perfleet {

// Of Kind::kCounter, in ticks of the session's clock, since the session's start: Σ(gap − period) over gaps between two
// interrupts that exceed two periods.
inline constexpr std::string_view kUncoveredTimeEvent = "uncovered time";

}  // namespace perfleet
