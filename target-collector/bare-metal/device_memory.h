// Memory-mapped registers of devices, and memory that is shared with them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace perfleet::bare_metal {

// Orders memory accesses, including those of devices.
inline void barrier() {
#if defined(__riscv)
    asm volatile("fence iorw, iorw" ::: "memory");
#elif defined(__aarch64__)
    asm volatile("dsb sy" ::: "memory");
#elif defined(__x86_64__)
    asm volatile("mfence" ::: "memory");
#endif
}

// Called before a device reads this memory, and before this side reads what a device has written. QEMU's devices and
// the processor see the same memory; on boards where they don't, caches are cleaned and invalidated here.
inline void to_device(const volatile void* /*memory*/, std::size_t /*size_bytes*/) {}
inline void from_device(const volatile void* /*memory*/, std::size_t /*size_bytes*/) {}

[[nodiscard]] inline std::uint32_t read_device(std::uint64_t address) {
    return *reinterpret_cast<volatile std::uint32_t*>(address);
}
[[nodiscard]] inline std::uint8_t read_device_byte(std::uint64_t address) {
    return *reinterpret_cast<volatile std::uint8_t*>(address);
}
inline void write_device(std::uint64_t address, std::uint32_t value) {
    *reinterpret_cast<volatile std::uint32_t*>(address) = value;
}

}  // namespace perfleet::bare_metal
