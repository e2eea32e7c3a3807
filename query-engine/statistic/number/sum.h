// Sums of counted rows.
//
// Plain values.
#pragma once

#include <cstdint>

#include "storage/number/weight_total.h"

namespace perfleet {

struct Sum {
    std::int64_t amount = 0;  // in the measure's unit (session/measure.h); exact if RowTotal::weights.is_exact()
    std::uint64_t rows = 0;

    [[nodiscard]] static constexpr Sum of_rows(std::uint64_t rows, std::uint64_t weight_of_each) {
        return {static_cast<std::int64_t>(weight_of_each * rows), rows};
    }
    // Modulo 2^64.
    constexpr Sum& operator+=(const Sum& other) {
        amount =
            static_cast<std::int64_t>(static_cast<std::uint64_t>(amount) + static_cast<std::uint64_t>(other.amount));
        rows += other.rows;
        return *this;
    }
    [[nodiscard]] constexpr std::uint64_t magnitude() const {
        return WeightTotal::magnitude_of(static_cast<std::uint64_t>(amount));
    }

    friend constexpr bool operator==(const Sum&, const Sum&) = default;
};

// All rows of a count.
struct RowTotal {
    Sum sum;
    WeightTotal weights;
    // Of imported values, which aren't samples of occurrences themselves: whether some say how many samples they stand
    // for, which are counted as rows then, and whether some don't.
    bool has_sample_numbers = false;
    bool lacks_sample_numbers = false;

    constexpr void add(std::uint64_t weight, std::uint64_t rows) {
        sum += Sum::of_rows(rows, weight);
        weights.add(weight, rows);
    }
    // Adds a value that stands for this number of samples.
    constexpr void add_value(std::uint64_t value, std::uint64_t samples) {
        sum += {static_cast<std::int64_t>(value), samples};
        weights.add_divided(value, samples);
        has_sample_numbers = true;
    }
    constexpr RowTotal& operator+=(const RowTotal& other) {
        sum += other.sum;
        weights.add(other.weights);
        has_sample_numbers |= other.has_sample_numbers;
        lacks_sample_numbers |= other.lacks_sample_numbers;
        return *this;
    }

    // What shares are parts of, as in pprof: the sum of the rows' absolute amounts.
    [[nodiscard]] constexpr double whole() const { return static_cast<double>(weights.magnitudes); }
    // In percent of whole().
    [[nodiscard]] constexpr double percent(const Sum& part) const {
        return weights.magnitudes == 0 ? 0 : 100.0 * static_cast<double>(part.amount) / whole();
    }
    // Kish's effective number of rows: the number of rows of equal weight that determine a share as precisely. At most
    // sum.rows.
    [[nodiscard]] constexpr double effective_rows() const {
        return weights.squares == 0 ? 0 : whole() / static_cast<double>(weights.squares) * whole();
    }
    // The amount that one effective row stands for; 1 if rows are counted.
    [[nodiscard]] constexpr double amount_of_effective_row() const {
        return weights.magnitudes == 0 ? 1 : static_cast<double>(weights.squares) / whole();
    }
};

}  // namespace perfleet
