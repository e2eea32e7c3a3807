// When the load is interrupted to be sampled: by the EL1 physical timer, and by the overflow of the cycle counter. Both
// with jitter: a fixed period would fall in step with the load (to be seen with keep_step()).
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

    // `now_ticks`: what the counter reads, about.
    void start(std::uint64_t now_ticks, bool in_step = false);
    void stop();

    // Instead of start(): no samples, and the cycle counter counts at EL0 and EL1 and can be read at both.
    static void count_all_cycles();

    // To be called at the same place of each turn of the load's outermost loop: from the fourth on the cycle counter's
    // period is fixed, and as long as the loop is; until then it gives no samples. `in_step`: of start().
    void take_turn();
    [[nodiscard]] std::uint64_t fixed_cycles() const { return fixed_cycles_; }

    // From then on periods of this mean pass between samples of this cause: ticks of the generic counter, or cycles.
    void set_period(Cause cause, std::uint64_t period);
    [[nodiscard]] std::uint64_t period(Cause cause) const {
        return cause == Cause::kTimer ? timer_period_.mean() : cycles_period_.mean();
    }
    // A stopped timer still interrupts, for the loop has to go round; that is no cause then.
    void set_running(Cause cause, bool is_running);

    // The interrupt that is there, taken and armed anew; kNone: none, or none of ours.
    [[nodiscard]] Cause take_interrupt();
    // Periods that were over before the interrupt of one before them was taken, since this was called last: samples
    // that the counters call for and nobody took.
    [[nodiscard]] std::uint64_t take_missed();

private:
    // How many periods it left out.
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
