// The EL0 physical timer, whose interrupt comes as a notification: the alarm of the root task on AArch64.
//
// One thread.
#pragma once

#include <cstdint>

#include "target-collector/sel4/root/machine.h"
#include "target-collector/sel4/root/objects.h"

namespace perfleet::sel4 {

class El0Alarm final : public Alarm {
public:
    El0Alarm(Objects& objects, seL4_CPtr notification);

    [[nodiscard]] std::uint64_t now() override;
    [[nodiscard]] std::uint64_t ticks_per_second() const override;
    void set(std::uint64_t moment) override;
    void clear() override;
    [[nodiscard]] WakeCauses wait() override;

    // Badges of the notification: what signals it.
    static constexpr seL4_Word kTickBadge = 1;
    static constexpr seL4_Word kCyclesBadge = 2;

private:
    seL4_CPtr notification_;
    seL4_CPtr interrupt_;
};

}  // namespace perfleet::sel4
