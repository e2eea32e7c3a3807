#include "target-collector/sel4/run/tick.h"

#include <algorithm>

namespace perfleet::sel4 {
namespace {

constexpr std::uint64_t kTicksPerSecond = 1'000;

}  // namespace

TickTimer::TickTimer(Alarm& alarm, std::uint64_t seed)
    : alarm_{alarm}, period_{alarm.ticks_per_second() / kTicksPerSecond}, jittered_{period_, seed} {}

void TickTimer::start() {
    at_ = alarm_.now();
    last_ = 0;
    arm(at_);
}

void TickTimer::set_period(std::uint64_t ticks) {
    period_ = ticks;
    jittered_.set_mean(ticks);
    last_ = 0;
}

void TickTimer::arm(std::uint64_t moment) {
    // Absolute, so that a late tick doesn't shift those after it; times that have passed are skipped.
    do {
        at_ += jittered_.next();
    } while (at_ <= moment);
    alarm_.set(at_);
}

void TickTimer::go_on() {
    const std::uint64_t moment = alarm_.now();
    if (last_ != 0) {
        const std::uint64_t gap = moment - last_;
        coverage_.gap_max = std::max(coverage_.gap_max, gap);
        coverage_.uncovered += gap > 2 * period_ ? gap - period_ : 0;
        coverage_.measured += gap;
    }
    last_ = moment;
    ++coverage_.ticks;
    arm(moment);
}

}  // namespace perfleet::sel4
