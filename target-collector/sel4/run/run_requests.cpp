#include "target-collector/sel4/run/run_requests.h"

#include "schemas/vocabulary/assert.h"
#include "target-collector/sel4/run/events.h"

namespace perfleet::sel4 {
namespace {

using protocol::ControlCommand;
using protocol::ControlOutcome;

// Ticks also drive the collector: its loop must run every few milliseconds.
constexpr std::uint64_t kFrequencyMax = 10'000;
constexpr std::uint64_t kFrequencyMin = 100;

constexpr ControlAnswer kApplied{ControlOutcome::kApplied, {}};

}  // namespace

RunRequests::RunRequests(const Setting& setting, TickTimer& timer, CycleInterrupts* cycles)
    : setting_{setting}, timer_{timer}, cycles_{cycles}, running_{(1U << setting.event_count) - 1} {
    PERFLEET_ASSERT(setting.event_count < 32);
}

bool RunRequests::take_start(EventNumber event) {
    const std::uint32_t bit = 1U << event.value;
    const bool was_started = (started_ & bit) != 0;
    started_ &= ~bit;
    return was_started;
}

ControlAnswer RunRequests::take_request(const ControlRequest& order) {
    if (order.event != kNoEvent && order.event.value >= setting_.event_count) {
        return {ControlOutcome::kUnknownEvent, "the collector has no such event"};
    }
    switch (order.command) {
        case ControlCommand::kStart: return set_running(order.event, true);
        case ControlCommand::kStop: return set_running(order.event, false);
        case ControlCommand::kSetPeriod: return set_period(order.event, order.value);
        case ControlCommand::kSetFrequency: return {ControlOutcome::kUnsupported, "it samples by periods: --period"};
        default: return {ControlOutcome::kUnsupported, "a control request that this collector does not support"};
    }
}

ControlAnswer RunRequests::set_running(EventNumber event, bool is_running) {
    const std::uint32_t all = (1U << setting_.event_count) - 1;
    const std::uint32_t meant = event == kNoEvent ? all : 1U << event.value;
    const std::uint32_t changed = meant & (is_running ? ~running_ : running_);
    running_ ^= changed;
    started_ = is_running ? started_ | changed : started_ & ~changed;
    if (cycles_ != nullptr && (changed >> RunEvents::kCycleSamples.value & 1) != 0) {
        if (is_running) {
            cycles_->start();
        } else {
            cycles_->stop();
        }
    }
    return kApplied;
}

ControlAnswer RunRequests::set_period(EventNumber event, std::uint64_t cycles) {
    const bool is_for_timer = event == kNoEvent || event == RunEvents::kSamples;
    const bool is_for_cycles = event == kNoEvent || event == RunEvents::kCycleSamples;
    if (!is_for_timer && (!is_for_cycles || cycles_ == nullptr)) {
        return {ControlOutcome::kUnsupported, "only samples have a period"};
    }
    if (cycles < setting_.cycles_per_second / kFrequencyMax || cycles > setting_.cycles_per_second / kFrequencyMin) {
        return {ControlOutcome::kOutOfRange, "periods of 0.1 to 10 ms, in cycles"};
    }
    if (is_for_timer) {
        timer_.set_period(cycles * timer_.ticks_per_second() / setting_.cycles_per_second);
    }
    if (is_for_cycles && cycles_ != nullptr) {
        cycles_->set_period(cycles);
    }
    return kApplied;
}

}  // namespace perfleet::sel4
