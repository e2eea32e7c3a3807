// How many bits a number needs: std::bit_width, also for processors without an instruction that counts leading zeros
// (RISC-V without Zbb), where the compiler would call a library that the freestanding core doesn't have.
//
// Freestanding.
#pragma once

#include <bit>
#include <cstdint>

namespace perfleet {

// By halving; works on every processor.
[[nodiscard]] constexpr unsigned bit_width_by_halves(std::uint64_t value) {
    unsigned width_bits = 0;
    for (unsigned step_bits = 32; step_bits > 0; step_bits /= 2) {
        if (value >> step_bits != 0) {
            value >>= step_bits;
            width_bits += step_bits;
        }
    }
    return width_bits + (value != 0 ? 1 : 0);
}

// 0 for 0; at most 64.
[[nodiscard]] constexpr unsigned bit_width(std::uint64_t value) {
#if defined(__riscv) && !defined(__riscv_zbb)
    return bit_width_by_halves(value);
#else
    return static_cast<unsigned>(std::bit_width(value));
#endif
}

}  // namespace perfleet
