// Bits of Arm's performance monitors (Arm Architecture Reference Manual, D13; the Cortex-A15's have the same places),
// and start values of counters. Freestanding; touches no register.
#pragma once

#include <cstdint>

namespace perfleet::bare_metal::pmu {

// PMCR.
inline constexpr std::uint64_t kEnable = 1U << 0;
inline constexpr std::uint64_t kResetCounters = 1U << 1;
inline constexpr std::uint64_t kResetCycleCounter = 1U << 2;
inline constexpr std::uint64_t kEvery64thCycle = 1U << 3;
inline constexpr std::uint64_t kExportEvents = 1U << 4;
inline constexpr std::uint64_t kNotWhereProhibited = 1U << 5;
inline constexpr std::uint64_t kLongCycleCounter = 1U << 6;  // overflows at 64 bits; not before PMUv3
inline constexpr std::uint64_t kLongCounters = 1U << 7;      // so do the others; not before PMUv3p5

// PMCNTENSET, PMINTENSET, PMOVSCLR and those that clear: a bit for each counter, and that of cycles.
inline constexpr std::uint64_t kCycleCounter = 1ULL << 31;

// PMEVTYPER, PMCCFILTR.
inline constexpr std::uint64_t kNotAtEl1 = 1ULL << 31;

// Counters that can be given an event, from PMCR: 0 to 31.
[[nodiscard]] constexpr std::uint64_t counter_count(std::uint64_t pmcr) { return pmcr >> 11 & 0x1f; }

[[nodiscard]] constexpr std::uint64_t counter_bits(std::uint64_t count) { return (1ULL << count) - 1; }

// The start value with which a counter of `width` bits overflows at the `period`th event from now: 2^width - period.
// width: 1 to 64; period: at least 1, at most 2^width - 1.
[[nodiscard]] constexpr std::uint64_t overflow_start(unsigned width_bits, std::uint64_t period) {
    return (0 - period) & (~0ULL >> (64 - width_bits));
}

}  // namespace perfleet::bare_metal::pmu
