// System registers and memory-mapped registers of the processor.
#pragma once

#include <cstdint>

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
// Orders memory accesses, those of devices too.
inline void barrier() { asm volatile("dsb sy" ::: "memory"); }

[[nodiscard]] inline std::uint32_t read_device(std::uint64_t address) {
    return *reinterpret_cast<volatile std::uint32_t*>(address);
}
inline void write_device(std::uint64_t address, std::uint32_t value) {
    *reinterpret_cast<volatile std::uint32_t*>(address) = value;
}

// The generic counter: the clock of samples and of the load itself.
[[nodiscard]] inline std::uint64_t counter() {
    synchronise();
    return PERFLEET_READ_REGISTER(cntvct_el0);
}

}  // namespace perfleet::bare_metal
