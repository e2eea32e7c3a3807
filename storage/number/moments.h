// Count, extremes, mean and variance of integers, computed exactly. Sums and sums of squares are integers wide enough
// for 2^64 values of 64 bits, so nothing overflows or cancels, and parts merge to the same result in any order.
//
// Plain values. Variance and standard deviation are those of the sample (divided by n − 1) unless the name says
// otherwise. A value is present only where it is defined: a variance needs two values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "storage/number/wide_integer.h"

namespace perfleet {

class Moments {
public:
    void add(std::uint64_t value) { add(value, 1); }
    void add(std::uint64_t value, std::uint64_t times);
    void add(std::span<const std::uint64_t> values);
    void merge(const Moments& other);

    // The stored form.
    struct Parts {
        std::uint64_t count = 0;
        std::uint64_t min = 0;  // 0 when there is no value
        std::uint64_t max = 0;
        Uint128 sum = 0;
        Uint256 sum_of_squares;
    };
    [[nodiscard]] Parts parts() const { return {count_, min(), max_, sum_, sum_of_squares_}; }
    // Nothing if `count` is 0 or the parts visibly contradict each other.
    [[nodiscard]] static std::optional<Moments> of(const Parts& parts);

    [[nodiscard]] std::uint64_t count() const { return count_; }
    // 0 when there is no value.
    [[nodiscard]] std::uint64_t min() const { return count_ == 0 ? 0 : min_; }
    [[nodiscard]] std::uint64_t max() const { return max_; }
    [[nodiscard]] Uint128 sum() const { return sum_; }

    [[nodiscard]] std::optional<long double> mean() const;
    [[nodiscard]] std::optional<long double> variance() const;
    [[nodiscard]] std::optional<long double> standard_deviation() const;
    // Standard deviation ÷ mean; nothing where the mean is 0.
    [[nodiscard]] std::optional<long double> coefficient_of_variation() const;
    // Σ (x − centre)² ÷ n, about an integer.
    [[nodiscard]] std::optional<long double> second_moment_about(std::uint64_t centre) const;

    friend bool operator==(const Moments&, const Moments&) = default;
    // Mean of `second` − mean of `first`, from the exact sums: correct even where both means round to the same number.
    // Both have values.
    friend long double mean_difference(const Moments& first, const Moments& second);

private:
    // Adds at most 256 values, which exceed `low` by less than 2^56.
    void add_near(std::span<const std::uint64_t> values, std::uint64_t low);
    // n Σx² − (Σx)²: n² times the population variance.
    [[nodiscard]] long double scaled_variance() const;

    std::uint64_t count_ = 0;
    std::uint64_t min_ = ~0ULL;
    std::uint64_t max_ = 0;
    Uint128 sum_ = 0;
    Uint256 sum_of_squares_;
};

[[nodiscard]] long double mean_difference(const Moments& first, const Moments& second);

}  // namespace perfleet
