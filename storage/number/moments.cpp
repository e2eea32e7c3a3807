#include "storage/number/moments.h"

#include <cmath>
#include <utility>

namespace perfleet {

void Moments::add(std::uint64_t value, std::uint64_t times) {
    if (times == 0) {
        return;
    }
    count_ += times;
    min_ = std::min(min_, value);
    max_ = std::max(max_, value);
    sum_ += Uint128{value} * times;
    sum_of_squares_ += Uint256{Uint128{value} * value}.times(times);
}

void Moments::add(std::span<const std::uint64_t> values) {
    // Sums short runs in 128 bits if nothing can overflow: a wide sum for each value costs five times as much.
    constexpr std::size_t kRun = 256;
    for (std::size_t start = 0; start < values.size(); start += kRun) {
        const auto run = values.subspan(start, std::min(kRun, values.size() - start));
        std::uint64_t low = ~0ULL;
        std::uint64_t high = 0;
        for (const std::uint64_t value : run) {
            low = std::min(low, value);
            high = std::max(high, value);
        }
        if (high >= 1ULL << 56 && high - low < 1ULL << 56) {
            add_near(run, low);
            continue;
        }
        if (high >= 1ULL << 56) {
            std::for_each(run.begin(), run.end(), [&](std::uint64_t value) { add(value, 1); });
            continue;
        }
        std::uint64_t sum = 0;
        Uint128 squares = 0;
        for (const std::uint64_t value : run) {
            sum += value;
            squares += Uint128{value} * value;
        }
        count_ += run.size();
        min_ = std::min(min_, low);
        max_ = std::max(max_, high);
        sum_ += sum;
        sum_of_squares_ += Uint256{squares};
    }
}

// Adds large values that are close together by their distances d from the smallest: Σx² = Σd² + 2 low Σd + n low².
void Moments::add_near(std::span<const std::uint64_t> values, std::uint64_t low) {
    std::uint64_t sum = 0;
    Uint128 squares = 0;
    for (const std::uint64_t value : values) {
        const std::uint64_t distance = value - low;
        sum += distance;
        squares += Uint128{distance} * distance;
        max_ = std::max(max_, value);
    }
    count_ += values.size();
    min_ = std::min(min_, low);
    sum_ += Uint128{low} * values.size() + sum;
    sum_of_squares_ += Uint256{squares};
    sum_of_squares_ += Uint256{Uint128{low} * sum}.times(2);
    sum_of_squares_ += Uint256{Uint128{low} * low}.times(values.size());
}

void Moments::merge(const Moments& other) {
    count_ += other.count_;
    min_ = std::min(min_, other.min_);
    max_ = std::max(max_, other.max_);
    sum_ += other.sum_;
    sum_of_squares_ += other.sum_of_squares_;
}

std::optional<Moments> Moments::of(const Parts& parts) {
    if (parts.count == 0 || parts.min > parts.max || parts.sum < Uint128{parts.min} * parts.count ||
        parts.sum > Uint128{parts.max} * parts.count ||
        parts.sum_of_squares > Uint256{Uint128{parts.max} * parts.max}.times(parts.count) ||
        parts.sum_of_squares.times(parts.count) < Uint256::product(parts.sum, parts.sum)) {
        return std::nullopt;
    }
    Moments moments;
    moments.count_ = parts.count;
    moments.min_ = parts.min;
    moments.max_ = parts.max;
    moments.sum_ = parts.sum;
    moments.sum_of_squares_ = parts.sum_of_squares;
    return moments;
}

std::optional<long double> Moments::mean() const {
    if (count_ == 0) {
        return std::nullopt;
    }
    return Uint256{sum_}.real() / static_cast<long double>(count_);
}

long double Moments::scaled_variance() const {
    Uint256 difference = sum_of_squares_.times(count_);
    difference -= Uint256::product(sum_, sum_);
    return difference.real();
}

long double mean_difference(const Moments& first, const Moments& second) {
    Uint256 greater = Uint256::product(second.sum_, first.count_);
    Uint256 lesser = Uint256::product(first.sum_, second.count_);
    const bool is_negative = greater < lesser;
    if (is_negative) {
        std::swap(greater, lesser);
    }
    greater -= lesser;
    const long double distance =
        greater.real() / (static_cast<long double>(first.count_) * static_cast<long double>(second.count_));
    return is_negative ? -distance : distance;
}

std::optional<long double> Moments::variance() const {
    if (count_ < 2) {
        return std::nullopt;
    }
    return scaled_variance() / static_cast<long double>(count_) / static_cast<long double>(count_ - 1);
}

std::optional<long double> Moments::standard_deviation() const {
    const auto squared = variance();
    return squared ? std::optional{std::sqrt(*squared)} : std::nullopt;
}

std::optional<long double> Moments::coefficient_of_variation() const {
    const auto deviation = standard_deviation();
    return deviation && sum_ != 0 ? std::optional{*deviation / *mean()} : std::nullopt;
}

std::optional<long double> Moments::second_moment_about(std::uint64_t centre) const {
    if (count_ == 0) {
        return std::nullopt;
    }
    // Σx² + n c² − 2 c Σx; never negative, provided that the subtraction comes last.
    Uint256 difference = sum_of_squares_;
    difference += Uint256{Uint128{centre} * centre}.times(count_);
    Uint256 mixed = Uint256::product(sum_, centre);
    mixed += mixed;
    difference -= mixed;
    return difference.real() / static_cast<long double>(count_);
}

}  // namespace perfleet
