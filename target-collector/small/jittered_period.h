// Sampling periods with jitter: a fixed period falls in step with loops of its own length.
//
// Freestanding; one thread.
#pragma once

#include <cstdint>

namespace perfleet {

// Uniform between half and one and a half of the mean: xorshift64*, random enough not to follow the load.
class JitteredPeriod {
public:
    // The mean must be at most 2^32.
    constexpr JitteredPeriod(std::uint64_t mean, std::uint64_t seed) : mean_{mean}, state_{seed | 1} {}

    [[nodiscard]] std::uint64_t mean() const { return mean_; }
    void set_mean(std::uint64_t mean) { mean_ = mean; }

    [[nodiscard]] std::uint64_t next() {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        const std::uint64_t random = (state_ * 0x2545'f491'4f6c'dd1d) >> 32;
        return mean_ / 2 + ((mean_ * random) >> 32);
    }

private:
    std::uint64_t mean_;
    std::uint64_t state_;
};

}  // namespace perfleet
