#include "target-collector/sel4/kernel/aarch64/el0_alarm.h"

#include "target-collector/bare-metal/registers.h"

namespace perfleet::sel4 {

std::uint64_t El0Alarm::now() {
    bare_metal::synchronise();
    return PERFLEET_READ_REGISTER(cntpct_el0);
}

std::uint64_t El0Alarm::ticks_per_second() const { return PERFLEET_READ_REGISTER(cntfrq_el0); }

void El0Alarm::set(std::uint64_t moment) {
    PERFLEET_WRITE_REGISTER(cntp_cval_el0, moment);
    PERFLEET_WRITE_REGISTER(cntp_ctl_el0, 1);
    bare_metal::synchronise();
    (void)seL4_IRQHandler_Ack(interrupt_);
}

void El0Alarm::clear() {
    PERFLEET_WRITE_REGISTER(cntp_ctl_el0, 0);
    bare_metal::synchronise();
}

}  // namespace perfleet::sel4
