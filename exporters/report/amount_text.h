// Amounts of a measure as people read them: time in ms, memory in KiB, MiB or GiB, others as they are.
//
// Pure functions.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace perfleet {

struct AmountScale {
    double worth = 1;  // of one shown unit, in the measure's
    std::string unit;

    [[nodiscard]] bool is_scaled() const { return worth != 1; }
};

// `greatest`: the greatest absolute amount that is shown.
[[nodiscard]] inline AmountScale amount_scale(std::string_view unit, double greatest) {
    constexpr double kNsPerMs = 1e6;
    if (unit == "ns") {
        return {kNsPerMs, "ms"};
    }
    AmountScale scale{1, std::string{unit}};
    if (unit == "bytes") {
        constexpr double kStep = 1024;
        for (const char* const larger : {"KiB", "MiB", "GiB", "TiB"}) {
            if (greatest >= scale.worth * kStep) {
                scale = {scale.worth * kStep, larger};
            }
        }
    }
    return scale;
}

// "12.34", or "1234" if the scale isn't another one than the measure's.
[[nodiscard]] inline std::string amount_number(double amount, const AmountScale& scale) {
    return fmt::format("{:.{}f}", amount / scale.worth, scale.is_scaled() ? 2 : 0);
}
// With its unit.
[[nodiscard]] inline std::string amount_text(double amount, std::string_view unit) {
    const AmountScale scale = amount_scale(unit, amount < 0 ? -amount : amount);
    return amount_number(amount, scale) + " " + scale.unit;
}

}  // namespace perfleet
