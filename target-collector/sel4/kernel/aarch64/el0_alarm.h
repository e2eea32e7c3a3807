// The EL0 physical timer: the alarm on AArch64, if the kernel exports it (KernelArmExportPTMRUser).
//
// One thread.
#pragma once

#include <cstdint>

#include "target-collector/sel4/kernel/libsel4.h"
#include "target-collector/sel4/run/machine.h"

namespace perfleet::sel4 {

class El0Alarm final : public Alarm {
public:
    static constexpr seL4_Word kInterrupt = 30;  // the timer's private interrupt

    // `interrupt`: the handler of that interrupt, which signals the caller's notification.
    explicit El0Alarm(seL4_CPtr interrupt) : interrupt_{interrupt} {}

    [[nodiscard]] std::uint64_t now() override;
    [[nodiscard]] std::uint64_t ticks_per_second() const override;
    void set(std::uint64_t moment) override;
    void clear() override;

private:
    seL4_CPtr interrupt_;
};

}  // namespace perfleet::sel4
