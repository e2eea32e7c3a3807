// A stream of random numbers that is the same on every machine for the same seed: xoshiro256** (Blackman and Vigna),
// seeded through SplitMix64.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "storage/number/wide_integer.h"

namespace perfleet {

class RandomStream {
public:
    explicit RandomStream(std::uint64_t seed) {
        for (std::uint64_t& word : state_) {
            seed += 0x9e3779b97f4a7c15;
            std::uint64_t mixed = seed;
            mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
            mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
            word = mixed ^ (mixed >> 31);
        }
    }

    std::uint64_t next() {
        const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
        const std::uint64_t shifted = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= shifted;
        state_[3] = std::rotl(state_[3], 45);
        return result;
    }

    // From 0 to count − 1, each equally likely to 2^-64; count > 0.
    std::uint64_t below(std::uint64_t count) { return static_cast<std::uint64_t>((Uint128{next()} * count) >> 64); }

    // In (0, 1).
    double unit() { return (static_cast<double>(next() >> 11) + 0.5) * 0x1p-53; }

private:
    std::array<std::uint64_t, 4> state_{};
};

}  // namespace perfleet
