// Memory-mapped registers of devices.
#pragma once

#include <cstdint>

namespace perfleet::bare_metal {

// Orders memory accesses, including those of devices.
inline void barrier() {
#if defined(__riscv)
    asm volatile("fence iorw, iorw" ::: "memory");
#elif defined(__aarch64__)
    asm volatile("dsb sy" ::: "memory");
#endif
}

[[nodiscard]] inline std::uint32_t read_device(std::uint64_t address) {
    return *reinterpret_cast<volatile std::uint32_t*>(address);
}
inline void write_device(std::uint64_t address, std::uint32_t value) {
    *reinterpret_cast<volatile std::uint32_t*>(address) = value;
}

}  // namespace perfleet::bare_metal
