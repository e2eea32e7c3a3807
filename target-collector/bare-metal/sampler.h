// Interrupts the load to take samples: by the EL1 physical timer, and by overflow of the cycle counter. Both periods
// have jitter: a fixed period would fall in step with the load (as take_turn() shows).
//
// One thread (EL1, interrupts masked).
#pragma once

#include <cstdint>

#include "target-collector/small/jittered_period.h"

namespace perfleet::bare_metal {

class Sampler {
public:
    enum class Cause : std::uint8_t { kNone, kTimer, kCycles };

    // Periods in ticks of the generic counter, and in cycles spent at EL0.
    Sampler(std::uint64_t timer_period_ticks, std::uint64_t cycles_period, std::uint64_t seed)
        : timer_period_{timer_period_ticks, seed}, cycles_period_{cycles_period, seed ^ 0x5555'5555'5555'5555} {}

    // `now_ticks`: approximate reading of the generic counter.
    void start(std::uint64_t now_ticks, bool in_step = false);
    void stop();

    // Used instead of start(): takes no samples; the cycle counter counts at EL0 and EL1 and is readable at both.
    static void count_all_cycles();

    // Call it at the same place of each turn of the load's outermost loop. From the fourth turn on, the cycle counter's
    // period is as long as the loop; before, it gives no samples. Only for start() with `in_step`.
    void take_turn();
    [[nodiscard]] std::uint64_t fixed_cycles() const { return fixed_cycles_; }

    // Sets the mean period between samples of this cause, in ticks of the generic counter or cycles, from now on.
    void set_period(Cause cause, std::uint64_t period);
    [[nodiscard]] std::uint64_t period(Cause cause) const {
        return cause == Cause::kTimer ? timer_period_.mean() : cycles_period_.mean();
    }
    // A stopped timer still interrupts, to keep the loop going, but gives no cause.
    void set_running(Cause cause, bool is_running);

    // Takes the pending interrupt and arms it again; kNone: there is none, or it is another device's.
    [[nodiscard]] Cause take_interrupt();
    // Periods that ended before the previous period's interrupt was taken, since the last call: samples that the
    // counters asked for and that were not taken.
    [[nodiscard]] std::uint64_t take_missed();

private:
    // Returns the number of skipped periods.
    std::uint64_t arm_timer();
    std::uint64_t arm_cycles(std::uint64_t period);

    JitteredPeriod timer_period_;
    JitteredPeriod cycles_period_;
    std::uint64_t timer_at_ticks_ = 0;
    std::uint64_t missed_ = 0;
    bool is_timer_sampling_ = true;
    bool is_in_step_ = false;
    std::uint64_t turns_ = 0;
    std::uint64_t turn_began_cycles_ = 0;
    std::uint64_t fixed_cycles_ = 0;  // 0: not known yet, or not fixed
};

}  // namespace perfleet::bare_metal
