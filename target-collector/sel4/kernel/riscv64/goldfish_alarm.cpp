#include "target-collector/sel4/kernel/riscv64/goldfish_alarm.h"

#include "schemas/vocabulary/time.h"
#include "target-collector/bare-metal/device_memory.h"

namespace perfleet::sel4 {
namespace {

using bare_metal::read_device;
using bare_metal::write_device;

enum Register : std::uint64_t {
    kTimeLow = 0x00,  // reading it latches the other half
    kTimeHigh = 0x04,
    kAlarmLow = 0x08,  // writing it sets the alarm
    kAlarmHigh = 0x0c,
    kInterruptEnabled = 0x10,
    kClearAlarm = 0x14,
    kClearInterrupt = 0x1c,
};

}  // namespace

std::uint64_t GoldfishAlarm::utc_ns(std::uint64_t device) {
    const std::uint64_t low = read_device(device + kTimeLow);
    return std::uint64_t{read_device(device + kTimeHigh)} << 32 | low;
}

std::uint64_t GoldfishAlarm::ticks_per_second() const { return kNsPerSecond; }

void GoldfishAlarm::set(std::uint64_t moment) {
    // Cleared before it is set: an alarm that comes in between isn't lost.
    write_device(device_ + kClearInterrupt, 1);
    write_device(device_ + kInterruptEnabled, 1);
    write_device(device_ + kAlarmHigh, static_cast<std::uint32_t>(moment >> 32));
    write_device(device_ + kAlarmLow, static_cast<std::uint32_t>(moment));
    bare_metal::barrier();
    (void)seL4_IRQHandler_Ack(interrupt_);
}

void GoldfishAlarm::clear() {
    write_device(device_ + kInterruptEnabled, 0);
    write_device(device_ + kClearAlarm, 1);
    write_device(device_ + kClearInterrupt, 1);
}

}  // namespace perfleet::sel4
