// Wakes the collector by an alarm at absolute times, with jitter around the period. It also sums the time that no tick
// covered.
//
// Freestanding; one thread.
#pragma once

#include <cstdint>

#include "target-collector/sel4/run/machine.h"
#include "target-collector/small/jittered_period.h"

namespace perfleet::sel4 {

class TickTimer {
public:
    // Borrows `alarm`.
    TickTimer(Alarm& alarm, std::uint64_t seed);

    void start();
    // Call it after each tick: arms the alarm again.
    void go_on();
    void stop() { alarm_.clear(); }
    // From the next tick on; the time between the last tick and the next counts as covered.
    void set_period(std::uint64_t ticks);

    [[nodiscard]] std::uint64_t ticks_per_second() const { return alarm_.ticks_per_second(); }

    struct Coverage {
        std::uint64_t ticks = 0;
        std::uint64_t uncovered = 0;  // Σ(gap − period) over gaps longer than two periods, in the alarm's ticks
        std::uint64_t gap_max = 0;    // the longest gap
        std::uint64_t measured = 0;   // from the first tick to the last
    };
    [[nodiscard]] const Coverage& coverage() const { return coverage_; }

private:
    void arm(std::uint64_t moment);

    Alarm& alarm_;
    std::uint64_t period_;
    JitteredPeriod jittered_;
    std::uint64_t at_ = 0;
    std::uint64_t last_ = 0;
    Coverage coverage_;
};

}  // namespace perfleet::sel4
