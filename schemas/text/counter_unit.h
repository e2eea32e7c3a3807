// Units of counters whose step is a fraction of a unit: with "2.3283064365386963e-10 Joules", a count of 10 is 2.3e-9
// Joules.
//
// Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace perfleet {

struct CounterUnit {
    double scale = 1;  // value of one count, in units
    std::string name;

    friend bool operator==(const CounterUnit&, const CounterUnit&) = default;
};

// The unit as text; a millionth of perf's "msec" becomes "ns".
[[nodiscard]] std::string counter_unit_text(const CounterUnit& unit);

// Empty if the text has no scale.
[[nodiscard]] std::optional<CounterUnit> parse_counter_unit(std::string_view text);

}  // namespace perfleet
