// The clock of values that have no times, from columns of numbers in `perfleet import`: the time of a row is its
// number. All its values were measured, also 0. (Tracepoints of other clocks carry a value only if one of their rows
// isn't 0.) Stored as the session's clock name: it must not change.
#pragma once

#include <string_view>

namespace perfleet {

inline constexpr std::string_view kRowClock = "row";

}  // namespace perfleet
