#include "target-collector/bare-metal/sampler.h"

#include "target-collector/bare-metal/registers.h"
#include "target-collector/pmu/pmu.h"

namespace perfleet::bare_metal {
namespace {

// The interrupt controller (Arm GICv2), at its places on the `virt` board.
constexpr std::uint64_t kDistributor = 0x0800'0000;
constexpr std::uint64_t kDistributorControl = kDistributor;
constexpr std::uint64_t kSetEnabled = kDistributor + 0x100;
constexpr std::uint64_t kProcessor = 0x0801'0000;
constexpr std::uint64_t kProcessorControl = kProcessor;
constexpr std::uint64_t kPriorityMask = kProcessor + 0x04;
constexpr std::uint64_t kAcknowledged = kProcessor + 0x0c;
constexpr std::uint64_t kEndOfInterrupt = kProcessor + 0x10;
constexpr std::uint32_t kInterruptMask = 0x3ff;
constexpr std::uint32_t kFirstSpecial = 1'020;  // no interrupt is pending

constexpr std::uint32_t kTimerInterrupt = 30;
constexpr std::uint32_t kCyclesInterrupt = 23;

using pmu::kCycleCounter;
using pmu::kNotAtEl1;
constexpr std::uint64_t kCountersOn = pmu::kEnable | pmu::kLongCycleCounter;

}  // namespace

void Sampler::start(std::uint64_t now_ticks, bool in_step) {
    is_in_step_ = in_step;
    write_device(kSetEnabled, 1U << kTimerInterrupt | 1U << kCyclesInterrupt);
    write_device(kDistributorControl, 1);
    write_device(kPriorityMask, 0xff);
    write_device(kProcessorControl, 1);

    PERFLEET_WRITE_REGISTER(pmcr_el0, kCountersOn);
    PERFLEET_WRITE_REGISTER(pmccfiltr_el0, kNotAtEl1);
    PERFLEET_WRITE_REGISTER(pmovsclr_el0, kCycleCounter);
    PERFLEET_WRITE_REGISTER(pmccntr_el0, 0);
    if (!is_in_step_) {
        arm_cycles(cycles_period_.next());
    }
    PERFLEET_WRITE_REGISTER(pmintenset_el1, kCycleCounter);
    PERFLEET_WRITE_REGISTER(pmcntenset_el0, kCycleCounter);

    timer_at_ticks_ = now_ticks;
    arm_timer();
    PERFLEET_WRITE_REGISTER(cntp_ctl_el0, 1);
    synchronise();
}

void Sampler::count_all_cycles() {
    PERFLEET_WRITE_REGISTER(pmuserenr_el0, 1);
    PERFLEET_WRITE_REGISTER(pmcr_el0, kCountersOn);
    PERFLEET_WRITE_REGISTER(pmccfiltr_el0, 0);
    PERFLEET_WRITE_REGISTER(pmccntr_el0, 0);
    PERFLEET_WRITE_REGISTER(pmcntenset_el0, kCycleCounter);
    synchronise();
}

void Sampler::stop() {
    PERFLEET_WRITE_REGISTER(cntp_ctl_el0, 0);
    PERFLEET_WRITE_REGISTER(pmcntenclr_el0, kCycleCounter);
    PERFLEET_WRITE_REGISTER(pmintenclr_el1, kCycleCounter);
    synchronise();
}

std::uint64_t Sampler::arm_timer() {
    // Absolute, so that a late interrupt doesn't shift those after it; times that have passed are skipped.
    const std::uint64_t now = counter();
    std::uint64_t left_out = 0;
    for (timer_at_ticks_ += timer_period_.next(); timer_at_ticks_ <= now; timer_at_ticks_ += timer_period_.next()) {
        ++left_out;
    }
    PERFLEET_WRITE_REGISTER(cntp_cval_el0, timer_at_ticks_);
    synchronise();
    return left_out;
}

std::uint64_t Sampler::take_missed() {
    const std::uint64_t missed = missed_;
    missed_ = 0;
    return missed;
}

std::uint64_t Sampler::arm_cycles(std::uint64_t period) {
    // Counts from the overflow, so that a late interrupt shifts no other.
    const std::uint64_t since = PERFLEET_READ_REGISTER(pmccntr_el0);
    PERFLEET_WRITE_REGISTER(pmccntr_el0, (since < period ? since : 0) + pmu::overflow_start(64, period));
    synchronise();
    return since / period;
}

void Sampler::take_turn() {
    constexpr std::uint64_t kTurnsBefore = 3;  // the first ones may be longer
    if (!is_in_step_ || fixed_cycles_ != 0) {
        return;
    }
    const std::uint64_t cycles = PERFLEET_READ_REGISTER(pmccntr_el0);
    if (++turns_ > kTurnsBefore) {
        fixed_cycles_ = cycles - turn_began_cycles_;
        PERFLEET_WRITE_REGISTER(pmccntr_el0, 0);
        arm_cycles(fixed_cycles_ + fixed_cycles_ / 4);  // somewhere within the loop's longest function
    }
    turn_began_cycles_ = cycles;
}

void Sampler::set_period(Cause cause, std::uint64_t period) {
    if (cause == Cause::kTimer) {
        timer_period_.set_mean(period);
        timer_at_ticks_ = counter();
        arm_timer();
    } else {
        cycles_period_.set_mean(period);
        PERFLEET_WRITE_REGISTER(pmovsclr_el0, kCycleCounter);
        PERFLEET_WRITE_REGISTER(pmccntr_el0, 0);
        arm_cycles(cycles_period_.next());
    }
}

void Sampler::set_running(Cause cause, bool is_running) {
    if (cause == Cause::kTimer) {
        is_timer_sampling_ = is_running;
        return;
    }
    if (is_running) {
        set_period(Cause::kCycles, cycles_period_.mean());
        PERFLEET_WRITE_REGISTER(pmintenset_el1, kCycleCounter);
    } else {
        PERFLEET_WRITE_REGISTER(pmintenclr_el1, kCycleCounter);
    }
    synchronise();
}

Sampler::Cause Sampler::take_interrupt() {
    const std::uint32_t acknowledged = read_device(kAcknowledged);
    const std::uint32_t number = acknowledged & kInterruptMask;
    if (number >= kFirstSpecial) {
        return Cause::kNone;
    }
    Cause cause = Cause::kNone;
    if (number == kTimerInterrupt) {
        const std::uint64_t left_out = arm_timer();
        cause = is_timer_sampling_ ? Cause::kTimer : Cause::kNone;
        missed_ = is_timer_sampling_ ? left_out : 0;
    } else if (number == kCyclesInterrupt) {
        // In this order: if it were cleared after loading, an overflow in between would be lost, and sampling would end
        // for good.
        PERFLEET_WRITE_REGISTER(pmovsclr_el0, kCycleCounter);
        missed_ = arm_cycles(is_in_step_ ? fixed_cycles_ : cycles_period_.next());
        cause = Cause::kCycles;
    }
    write_device(kEndOfInterrupt, acknowledged);
    return cause;
}

}  // namespace perfleet::bare_metal
