#include "schemas/text/counter_unit.h"

#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

namespace perfleet {
namespace {

const CounterUnit kTime{1e-6, "msec"};  // as perf shows what is counted in ns
constexpr std::string_view kTimeText = "ns";

}  // namespace

std::string counter_unit_text(const CounterUnit& unit) {
    if (unit == kTime) {
        return std::string{kTimeText};
    }
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.begin(), digits.end(), unit.scale).ptr;
    return std::string(digits.begin(), end) + " " + unit.name;
}

std::optional<CounterUnit> parse_counter_unit(std::string_view text) {
    if (text == kTimeText) {
        return kTime;
    }
    CounterUnit unit;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), unit.scale);
    const std::string_view name = text.substr(static_cast<std::size_t>(end - text.data()));
    if (error != std::errc{} || name.size() < 2 || name.front() != ' ' || !std::isfinite(unit.scale)) {
        return std::nullopt;
    }
    unit.name = name.substr(1);
    return unit;
}

}  // namespace perfleet
