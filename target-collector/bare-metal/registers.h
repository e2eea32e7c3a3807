// System registers and memory-mapped registers of the processor.
#pragma once

#include <cstdint>

#include "target-collector/bare-metal/device_memory.h"

#define PERFLEET_READ_REGISTER(name)                            \
    ([] {                                                       \
        std::uint64_t value;                                    \
        asm volatile("mrs %0, " #name : "=r"(value)::"memory"); \
        return value;                                           \
    }())
#define PERFLEET_WRITE_REGISTER(name, value) \
    asm volatile("msr " #name ", %0" ::"r"(static_cast<std::uint64_t>(value)) : "memory")

namespace perfleet::bare_metal {

inline void synchronise() { asm volatile("isb" ::: "memory"); }
// The generic counter: the clock of samples and of the load itself.
[[nodiscard]] inline std::uint64_t counter() {
    synchronise();
    return PERFLEET_READ_REGISTER(cntvct_el0);
}

// The PMU's cycle counter, if it was started.
[[nodiscard]] inline std::uint64_t cycle_counter() {
    synchronise();
    return PERFLEET_READ_REGISTER(pmccntr_el0);
}

// Waits until this tick of the generic counter; returns at once if it has passed. With `-icount shift=3` an instruction
// takes half a tick: execution then continues at the same instruction in every run, whatever ran before.
inline void wait_until(std::uint64_t ticks) {
    std::uint64_t first;
    std::uint64_t second;
    asm volatile(
        "mrs %0, cntvct_el0\n"
        "mrs %1, cntvct_el0\n"
        // If the ticks differ, the first was read in the second half of its tick; one more instruction compensates.
        // From here on the time is that of the second tick, plus some instructions.
        "subs %0, %1, %0\n"
        "b.eq 1f\n"
        "nop\n"
        "1: subs %0, %2, %1\n"
        "b.ls 3f\n"
        "2: subs %0, %0, #1\n"  // two instructions: one tick
        "b.ne 2b\n"
        "3:\n"
        : "=&r"(first), "=&r"(second)
        : "r"(ticks)
        : "cc", "memory");
    // Without -icount, instructions are faster.
    while (counter() < ticks) {
    }
}

}  // namespace perfleet::bare_metal
