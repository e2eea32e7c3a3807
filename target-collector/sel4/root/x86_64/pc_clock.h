// The PC's clock (Motorola MC146818) behind its two I/O ports.
#pragma once

#include <cstdint>

#include "target-collector/sel4/root/x86_64/io_ports.h"

namespace perfleet::sel4 {

// Waits until the clock's second changes, and returns the new time as seconds since 1970.
[[nodiscard]] std::int64_t wait_for_second(const IoPorts& ports);

inline constexpr std::uint16_t kClockFirstPort = 0x70;
inline constexpr std::uint16_t kClockLastPort = 0x71;

}  // namespace perfleet::sel4
