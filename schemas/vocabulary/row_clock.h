// The clock of values that came without times, as `perfleet import` stores columns of numbers: a row's time is its
// number, and its value was measured, whatever it is. (A tracepoint of another clock carries a value where one of its
// rows isn't 0.) Stands in stores as the session's clock name and must not change.
#pragma once

#include <string_view>

namespace perfleet {

inline constexpr std::string_view kRowClock = "row";

}  // namespace perfleet
