// When the load is interrupted to be sampled: by the EL1 physical timer, and by the overflow of the cycle counter. Both
// with jitter: a fixed period would fall in step with the load.
//
// One thread (EL1, interrupts masked).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "target-collector/bare-metal/context.h"

namespace perfleet::bare_metal {

// Uniform between half and one and a half of the mean: xorshift64*, which is random enough not to follow the load.
class JitteredPeriod {
public:
    JitteredPeriod(std::uint64_t mean, std::uint64_t seed) : mean_{mean}, state_{seed | 1} {}
    [[nodiscard]] std::uint64_t next();

private:
    std::uint64_t mean_;
    std::uint64_t state_;
};

class Sampler {
public:
    enum class Cause : std::uint8_t { kNone, kTimer, kCycles };

    // Periods in ticks of the generic counter, and in cycles spent at EL0.
    Sampler(std::uint64_t timer_period_ticks, std::uint64_t cycles_period, std::uint64_t seed)
        : timer_period_{timer_period_ticks, seed}, cycles_period_{cycles_period, seed ^ 0x5555'5555'5555'5555} {}

    void start();
    void stop();

    // The interrupt that is there, taken and armed anew; kNone: none, or none of ours.
    [[nodiscard]] Cause take_interrupt();

private:
    void arm_timer();
    void arm_cycles();

    JitteredPeriod timer_period_;
    JitteredPeriod cycles_period_;
    std::uint64_t timer_at_ticks_ = 0;
};

// The call chain of an interrupted thread, whose stack lies in `stack`: where it was, then return addresses along the
// frame pointers. At most `into.size()`; returns how many.
[[nodiscard]] std::size_t walk_frames(const Context& context, std::span<const std::byte> stack,
                                      std::span<std::uint64_t> into);

}  // namespace perfleet::bare_metal
