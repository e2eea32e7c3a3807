// The differences between QEMU's `virt` boards: the line, the timer, the clock.
#pragma once

#include <string_view>

#ifdef __riscv
#include "target-collector/bare-metal/ns16550_port.h"
#include "target-collector/sel4/kernel/riscv64/goldfish_alarm.h"

using BoardAlarm = perfleet::sel4::GoldfishAlarm;
inline constexpr std::uint64_t kDevicePages[] = {0x1000'0000, BoardAlarm::kDevice};
inline constexpr std::string_view kArchitecture = "riscv64", kClockName = "cycle";
inline BoardAlarm make_alarm(seL4_CPtr interrupt) { return {BoardAlarm::kDevice, interrupt}; }
inline perfleet::bare_metal::Ns16550Port make_uart() { return perfleet::bare_metal::Ns16550Port{kDevicePages[0]}; }
inline void start(perfleet::bare_metal::Ns16550Port& /*uart*/) {}  // the firmware did it
#else
#include "target-collector/bare-metal/uart_port.h"
#include "target-collector/sel4/kernel/aarch64/el0_alarm.h"

using BoardAlarm = perfleet::sel4::El0Alarm;
inline constexpr std::uint64_t kDevicePages[] = {perfleet::bare_metal::UartPort::kVirtBoard};
inline constexpr std::string_view kArchitecture = "aarch64", kClockName = "pmccntr";
inline BoardAlarm make_alarm(seL4_CPtr interrupt) { return BoardAlarm{interrupt}; }
inline perfleet::bare_metal::UartPort make_uart() { return perfleet::bare_metal::UartPort{kDevicePages[0]}; }
inline void start(perfleet::bare_metal::UartPort& uart) { uart.start(); }
#endif
