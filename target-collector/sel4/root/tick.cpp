#include "target-collector/sel4/root/tick.h"

#include <algorithm>

#include "target-collector/bare-metal/registers.h"

namespace perfleet::sel4 {
namespace {

constexpr seL4_Word kTimerInterrupt = 30;  // the physical timer's private interrupt
constexpr std::uint64_t kTicksPerSecond = 1'000;

}  // namespace

TickTimer::TickTimer(Objects& objects, seL4_CPtr notification, std::uint64_t ticks_per_second, std::uint64_t seed)
    : interrupt_{objects.take_slot()}, period_{ticks_per_second / kTicksPerSecond}, jittered_{period_, seed} {
    require(static_cast<seL4_Word>(seL4_IRQControl_Get(seL4_CapIRQControl, kTimerInterrupt, seL4_CapInitThreadCNode,
                                                       interrupt_, seL4_WordBits)),
            "the timer's interrupt");
    require(static_cast<seL4_Word>(seL4_IRQHandler_SetNotification(interrupt_, notification)),
            "the timer's notification");
}

std::uint64_t TickTimer::now() {
    bare_metal::synchronise();
    return PERFLEET_READ_REGISTER(cntpct_el0);
}

void TickTimer::start() {
    at_ = now();
    last_ = 0;
    arm();
    PERFLEET_WRITE_REGISTER(cntp_ctl_el0, 1);
    bare_metal::synchronise();
    (void)seL4_IRQHandler_Ack(interrupt_);
}

void TickTimer::stop() {
    PERFLEET_WRITE_REGISTER(cntp_ctl_el0, 0);
    bare_metal::synchronise();
}

void TickTimer::set_period(std::uint64_t ticks) {
    period_ = ticks;
    jittered_.set_mean(ticks);
    last_ = 0;
}

void TickTimer::arm() {
    // Absolute, so that a late tick doesn't shift those after it; what is over already is left out.
    const std::uint64_t moment = now();
    do {
        at_ += jittered_.next();
    } while (at_ <= moment);
    PERFLEET_WRITE_REGISTER(cntp_cval_el0, at_);
    bare_metal::synchronise();
}

void TickTimer::go_on() {
    const std::uint64_t moment = now();
    if (last_ != 0) {
        const std::uint64_t gap = moment - last_;
        coverage_.gap_max = std::max(coverage_.gap_max, gap);
        coverage_.uncovered += gap > 2 * period_ ? gap - period_ : 0;
        coverage_.measured += gap;
    }
    last_ = moment;
    ++coverage_.ticks;
    arm();
    (void)seL4_IRQHandler_Ack(interrupt_);
}

}  // namespace perfleet::sel4
