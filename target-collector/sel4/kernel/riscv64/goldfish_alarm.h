// The Goldfish real-time clock of QEMU's RISC-V `virt`: UTC in nanoseconds, and an interrupt at a chosen time. seL4
// keeps RISC-V's own timer for itself, so this is the alarm there.
//
// One thread. Its page is mapped at the given address.
#pragma once

#include <cstdint>

#include "target-collector/sel4/kernel/libsel4.h"
#include "target-collector/sel4/run/machine.h"

namespace perfleet::sel4 {

class GoldfishAlarm final : public Alarm {
public:
    static constexpr std::uint64_t kDevice = 0x10'1000;  // QEMU's virt
    static constexpr seL4_Word kInterrupt = 11;          // at its PLIC

    // `interrupt`: the handler of that interrupt, which signals the caller's notification.
    GoldfishAlarm(std::uint64_t device, seL4_CPtr interrupt) : device_{device}, interrupt_{interrupt} {}

    [[nodiscard]] static std::uint64_t utc_ns(std::uint64_t device);

    [[nodiscard]] std::uint64_t now() override { return utc_ns(device_); }
    [[nodiscard]] std::uint64_t ticks_per_second() const override;
    void set(std::uint64_t moment) override;
    void clear() override;

private:
    std::uint64_t device_;
    seL4_CPtr interrupt_;
};

}  // namespace perfleet::sel4
