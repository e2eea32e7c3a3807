#include "target-collector/sel4/root/aarch64/el0_alarm.h"

#include "target-collector/bare-metal/registers.h"

namespace perfleet::sel4 {
namespace {

constexpr seL4_Word kTimerInterrupt = 30;  // the physical timer's private interrupt

}  // namespace

El0Alarm::El0Alarm(Objects& objects, seL4_CPtr notification)
    : notification_{notification}, interrupt_{objects.take_slot()} {
    require(static_cast<seL4_Word>(seL4_IRQControl_Get(seL4_CapIRQControl, kTimerInterrupt, seL4_CapInitThreadCNode,
                                                       interrupt_, seL4_WordBits)),
            "the timer's interrupt");
    require(static_cast<seL4_Word>(
                seL4_IRQHandler_SetNotification(interrupt_, objects.with_badge(notification, kTickBadge))),
            "the timer's notification");
}

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

WakeCauses El0Alarm::wait() {
    seL4_Word badges = 0;
    seL4_Wait(notification_, &badges);
    return {(badges & kTickBadge) != 0, (badges & kCyclesBadge) != 0};
}

}  // namespace perfleet::sel4
