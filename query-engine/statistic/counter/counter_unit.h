// Units of counters that count in parts of a unit: "2.3283064365386963e-10 Joules", of which 10 are 2.3e-9 Joules.
//
// Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace perfleet {

struct CounterUnit {
    double scale = 1;  // of one that is counted
    std::string name;

    friend bool operator==(const CounterUnit&, const CounterUnit&) = default;
};

// "ns" of a millionth of perf's "msec".
[[nodiscard]] std::string counter_unit_text(const CounterUnit& unit);

// Empty: it has no scale.
[[nodiscard]] std::optional<CounterUnit> parse_counter_unit(std::string_view text);

}  // namespace perfleet
