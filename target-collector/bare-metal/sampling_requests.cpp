#include "target-collector/bare-metal/sampling_requests.h"

#include "target-collector/bare-metal/load.h"

namespace perfleet::bare_metal {

ControlAnswer SamplingRequests::take_request(const ControlRequest& order) {
    using protocol::ControlCommand;
    using protocol::ControlOutcome;
    constexpr std::uint64_t kNsPerSecondUnsigned = 1'000'000'000;
    const bool is_for_timer = order.event == kNoEvent || order.event == kTimerEvent;
    const bool is_for_cycles = order.event == kNoEvent || order.event == kCyclesEvent;
    const bool is_for_utilisation = order.event == kNoEvent || order.event == kUtilisationEvent;
    const bool is_rate = order.command != ControlCommand::kStart && order.command != ControlCommand::kStop;
    if (!is_for_timer && !is_for_cycles && (is_rate || !is_for_utilisation)) {
        return {ControlOutcome::kUnsupported, "only timer and cycles are sampled"};
    }
    if (is_for_cycles && setting_.is_in_step) {
        return {ControlOutcome::kUnsupported, "this run's cycles follow the load's loop"};
    }
    switch (order.command) {
        case ControlCommand::kStart:
        case ControlCommand::kStop: {
            const bool is_running = order.command == ControlCommand::kStart;
            if (is_for_timer) {
                sampler_.set_running(Sampler::Cause::kTimer, is_running);
            }
            if (is_for_cycles) {
                sampler_.set_running(Sampler::Cause::kCycles, is_running);
            }
            tells_utilisation_ = is_for_utilisation ? is_running : tells_utilisation_;
            if (order.event == kNoEvent && setting_.is_traced) {
                trace.is_on = is_running ? 1 : 0;
            }
            return {ControlOutcome::kApplied, {}};
        }
        case ControlCommand::kSetPeriod:
            if (order.value < kPeriodMin || order.value > kPeriodMax) {
                return {ControlOutcome::kOutOfRange, "periods of 100,000 to 10,000,000 ns, or cycles"};
            }
            if (is_for_timer) {
                setting_.timer_period_ns = order.value;
                sampler_.set_period(Sampler::Cause::kTimer,
                                    order.value * setting_.ticks_per_second / kNsPerSecondUnsigned);
            }
            if (is_for_cycles) {
                sampler_.set_period(Sampler::Cause::kCycles, order.value);
            }
            return {ControlOutcome::kApplied, {}};
        case ControlCommand::kSetFrequency: return {ControlOutcome::kUnsupported, "it samples by periods: --period"};
        default: return {ControlOutcome::kUnsupported, "a control request that this image does not support"};
    }
}

}  // namespace perfleet::bare_metal
