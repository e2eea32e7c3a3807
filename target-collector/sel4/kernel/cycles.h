// The processor's cycle counter: the clock of the kernel's own timestamps.
#pragma once

#include <cstdint>

#include "schemas/vocabulary/time.h"
#include "target-collector/sel4/kernel/libsel4.h"

namespace perfleet::sel4 {

#if defined(__aarch64__)

[[nodiscard]] inline Ticks cycles() {
    std::uint64_t value = 0;
    asm volatile("isb\n mrs %0, pmccntr_el0" : "=r"(value)::"memory");
    return Ticks{value};
}

// Kernels with benchmarks have started it; nothing ever writes it. A hypervisor kernel runs at EL2, where the counter
// stops unless enabled: enabled, it includes the kernel's own time, as elsewhere.
inline void start_cycles() {
#ifdef CONFIG_ARM_HYPERVISOR_SUPPORT
    constexpr std::uint64_t kAlsoAtEl2 = 1U << 27;
    asm volatile("msr pmccfiltr_el0, %0" ::"r"(kAlsoAtEl2));
#endif
    constexpr std::uint64_t kCountersOn = 1U << 0 | 1U << 6;  // and the cycle counter has 64 bits
    std::uint64_t control = 0;
    asm volatile("mrs %0, pmcr_el0" : "=r"(control));
    asm volatile("msr pmcr_el0, %0" ::"r"(control | kCountersOn));
    asm volatile("msr pmcntenset_el0, %0\n isb" ::"r"(1ULL << 31));
}

#elif defined(__x86_64__)

[[nodiscard]] inline Ticks cycles() {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    asm volatile("lfence\n rdtsc" : "=a"(low), "=d"(high)::"memory");
    return Ticks{std::uint64_t{high} << 32 | low};
}

#elif defined(__riscv)

[[nodiscard]] inline Ticks cycles() {
    std::uint64_t value = 0;
    asm volatile("rdcycle %0" : "=r"(value)::"memory");
    return Ticks{value};
}

// The firmware did it.
inline void start_cycles() {}

#endif

}  // namespace perfleet::sel4
