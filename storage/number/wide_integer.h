// Unsigned integers of 128 and 256 bits, for exact sums of squares.
//
// Plain values. Arithmetic is modulo 2^256; callers must stay below that.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace perfleet {

__extension__ using Uint128 = unsigned __int128;

class Uint256 {
public:
    constexpr Uint256() = default;
    constexpr explicit Uint256(Uint128 value)
        : limbs_{static_cast<std::uint64_t>(value), static_cast<std::uint64_t>(value >> 64), 0, 0} {}

    [[nodiscard]] static constexpr Uint256 product(Uint128 a, Uint128 b) {
        Uint256 result = Uint256{a}.times(static_cast<std::uint64_t>(b));
        Uint256 high = Uint256{a}.times(static_cast<std::uint64_t>(b >> 64));
        high.limbs_ = {0, high.limbs_[0], high.limbs_[1], high.limbs_[2]};
        result += high;
        return result;
    }

    [[nodiscard]] constexpr Uint256 times(std::uint64_t factor) const {
        Uint256 result;
        Uint128 carry = 0;
        for (std::size_t i = 0; i < limbs_.size(); ++i) {
            carry += Uint128{limbs_[i]} * factor;
            result.limbs_[i] = static_cast<std::uint64_t>(carry);
            carry >>= 64;
        }
        return result;
    }

    constexpr Uint256& operator+=(const Uint256& other) {
        Uint128 carry = 0;
        for (std::size_t i = 0; i < limbs_.size(); ++i) {
            carry += Uint128{limbs_[i]} + other.limbs_[i];
            limbs_[i] = static_cast<std::uint64_t>(carry);
            carry >>= 64;
        }
        return *this;
    }

    // `other` must not be greater.
    constexpr Uint256& operator-=(const Uint256& other) {
        std::uint64_t borrow = 0;
        for (std::size_t i = 0; i < limbs_.size(); ++i) {
            const Uint128 taken = Uint128{other.limbs_[i]} + borrow;
            borrow = limbs_[i] < taken ? 1 : 0;
            limbs_[i] -= static_cast<std::uint64_t>(taken);
        }
        return *this;
    }

    // Least first.
    using Limbs = std::array<std::uint64_t, 4>;
    [[nodiscard]] constexpr const Limbs& limbs() const { return limbs_; }
    [[nodiscard]] static constexpr Uint256 of(const Limbs& limbs) {
        Uint256 value;
        value.limbs_ = limbs;
        return value;
    }

    // Rounded, to half a unit of a 64-bit mantissa for each limb.
    [[nodiscard]] constexpr long double real() const {
        long double value = 0;
        for (std::size_t i = limbs_.size(); i > 0; --i) {
            value = value * 18446744073709551616.0L + static_cast<long double>(limbs_[i - 1]);
        }
        return value;
    }

    friend constexpr bool operator==(const Uint256&, const Uint256&) = default;
    friend constexpr std::strong_ordering operator<=>(const Uint256& a, const Uint256& b) {
        for (std::size_t i = a.limbs_.size(); i > 0; --i) {
            if (a.limbs_[i - 1] != b.limbs_[i - 1]) {
                return a.limbs_[i - 1] <=> b.limbs_[i - 1];
            }
        }
        return std::strong_ordering::equal;
    }

private:
    Limbs limbs_{};
};

}  // namespace perfleet
