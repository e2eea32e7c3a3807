// The counter of time in which a target should have sampled and didn't, because its sampling interrupts came late:
// periods that were skipped are in no row of samples and in no loss.
//
// Freestanding.
#pragma once

#include <string_view>

namespace perfleet {

// Of Kind::kCounter, in ticks of the session's clock: Σ(gap − period) over gaps between two interrupts of more than two
// periods, since the session's start.
inline constexpr std::string_view kUncoveredTimeEvent = "uncovered time";

}  // namespace perfleet
