// Units of stored values. Values are integers. A value measured with decimals is stored in parts of its unit, and the
// unit says so: 12.345 us is 12345 of "0.001 us".
//
// Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace perfleet {

struct ValueUnit {
    std::string name;       // "us"
    unsigned decimals = 0;  // a stored value is 10^-decimals of the unit; at most kDecimalsMax

    static constexpr unsigned kDecimalsMax = 19;  // 10^19 is the greatest power of ten in 64 bits

    [[nodiscard]] long double worth() const {
        long double parts = 1;
        for (unsigned i = 0; i < decimals; ++i) {
            parts *= 10;
        }
        return 1 / parts;
    }

    friend bool operator==(const ValueUnit&, const ValueUnit&) = default;
};

// "0.001 us" for {us, 3}; the name alone without decimals.
[[nodiscard]] inline std::string stored_unit(const ValueUnit& unit) {
    return unit.decimals == 0 ? unit.name : "0." + std::string(unit.decimals - 1, '0') + "1 " + unit.name;
}

// Parses what stored_unit() wrote; any other text is a unit without decimals.
[[nodiscard]] inline ValueUnit value_unit(std::string_view stored) {
    if (stored.starts_with("0.")) {
        const std::size_t one = stored.find_first_not_of('0', 2);
        if (one != std::string_view::npos && stored.substr(one).starts_with("1 ") &&
            one - 1 <= ValueUnit::kDecimalsMax) {
            return {std::string{stored.substr(one + 2)}, static_cast<unsigned>(one - 1)};
        }
    }
    return {std::string{stored}, 0};
}

}  // namespace perfleet
