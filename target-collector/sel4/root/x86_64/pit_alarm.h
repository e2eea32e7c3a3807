// The PC's interval timer (Intel 8254), channel 0, whose interrupt arrives as a notification: the alarm of the root
// task on x86-64. Its times are those of the TSC.
//
// One thread.
#pragma once

#include <cstdint>

#include "target-collector/sel4/root/boot/objects.h"
#include "target-collector/sel4/root/x86_64/io_ports.h"
#include "target-collector/sel4/run/machine.h"

namespace perfleet::sel4 {

class PitAlarm final : public Alarm {
public:
    PitAlarm(Objects& objects, std::uint64_t cycles_per_second);

    [[nodiscard]] std::uint64_t now() override;
    [[nodiscard]] std::uint64_t ticks_per_second() const override { return cycles_per_second_; }
    // The timer counts at most 55 ms: for a later time it interrupts early.
    void set(std::uint64_t moment) override;
    void clear() override;
    // Waits for its next interrupt.
    [[nodiscard]] WakeCauses wait();

private:
    IoPorts ports_;
    std::uint64_t cycles_per_second_;
    seL4_CPtr notification_;
    seL4_CPtr interrupt_;
};

}  // namespace perfleet::sel4
