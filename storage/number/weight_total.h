// Properties of a sum of rows' weights: whether the sum is exact, and how much the weights vary.
//
// Plain values. A weight is a signed integer of 64 bits, which columns hold in two's complement.
#pragma once

#include <cstdint>

#include "storage/number/wide_integer.h"

namespace perfleet {

struct WeightTotal {
    Uint128 magnitudes = 0;  // sum of the absolute values
    Uint128 squares = 0;     // sum of the squares; 2^128 - 1 if it isn't below that

    [[nodiscard]] static constexpr std::uint64_t magnitude_of(std::uint64_t weight) {
        return static_cast<std::int64_t>(weight) < 0 ? -weight : weight;
    }

    // Adds `rows` rows of one weight.
    constexpr void add(std::uint64_t weight, std::uint64_t rows) {
        const Uint128 magnitude = magnitude_of(weight);
        magnitudes += magnitude * rows;
        Uint128 more = 0;
        add_squares(__builtin_mul_overflow(magnitude * magnitude, Uint128{rows}, &more) ? ~Uint128{0} : more);
    }
    // Adds a row that stands for `parts` rows of equal weight; 0 parts: its value is 0.
    constexpr void add_divided(std::uint64_t weight, std::uint64_t parts) {
        const Uint128 magnitude = magnitude_of(weight);
        magnitudes += magnitude;
        add_squares(parts == 0 ? 0 : magnitude * magnitude / parts);
    }
    constexpr void add(const WeightTotal& other) {
        magnitudes += other.magnitudes;
        add_squares(other.squares);
    }

    // Whether every sum of some of these weights fits into 64 bits with a sign.
    [[nodiscard]] constexpr bool is_exact() const { return magnitudes <= INT64_MAX; }

    friend constexpr bool operator==(const WeightTotal&, const WeightTotal&) = default;

private:
    constexpr void add_squares(Uint128 more) { squares += more < ~squares ? more : ~squares; }
};

}  // namespace perfleet
