// The rate of the processor's cycles, measured against a clock with a known rate.
//
// `clock_now` gives the clock's ticks, `cycles_now` Ticks of the cycle counter.
#pragma once

#include <cstdint>

#include "schemas/vocabulary/time.h"

namespace perfleet::sel4 {

struct ClockMoment {
    std::uint64_t clock = 0;
    Ticks cycles;

    // Since `begun`, an earlier moment of the clock.
    [[nodiscard]] std::uint64_t cycles_per_second(const ClockMoment& begun, std::uint64_t clock_per_second) const {
        return (cycles.value - begun.cycles.value) * clock_per_second / (clock - begun.clock);
    }
};

// Both readings at nearly the same moment: the shortest of several tries, because a host may take the processor away in
// between.
template <class ClockNow, class CyclesNow>
[[nodiscard]] ClockMoment read_moment(ClockNow clock_now, CyclesNow cycles_now) {
    constexpr int kReadings = 8;
    ClockMoment best;
    std::uint64_t shortest = ~0ULL;
    for (int i = 0; i < kReadings; ++i) {
        const std::uint64_t before = clock_now();
        const Ticks between = cycles_now();
        const std::uint64_t took = clock_now() - before;
        if (took < shortest) {
            shortest = took;
            best = {before + took / 2, between};
        }
    }
    return best;
}

struct CycleRate {
    std::uint64_t per_second = 0;
    ClockMoment measured;  // at the end
};

// Measures over that many ticks of the clock, more than 0.
template <class ClockNow, class CyclesNow>
[[nodiscard]] CycleRate measure_cycle_rate(ClockNow clock_now, CyclesNow cycles_now, std::uint64_t clock_per_second,
                                           std::uint64_t wait_ticks) {
    const ClockMoment begun = read_moment(clock_now, cycles_now);
    ClockMoment now = begun;
    while (now.clock - begun.clock < wait_ticks) {
        now = read_moment(clock_now, cycles_now);
    }
    return {now.cycles_per_second(begun, clock_per_second), now};
}

}  // namespace perfleet::sel4
