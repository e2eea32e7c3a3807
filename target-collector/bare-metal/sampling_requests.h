// Control requests that this image accepts: start and stop its sampling by timer and by cycles, change the periods, and
// start and stop the rows about its threads.
//
// One thread (EL1, interrupts masked).
#pragma once

#include <cstdint>

#include "target-collector/bare-metal/sampler.h"
#include "target-collector/message/control.h"

namespace perfleet::bare_metal {

inline constexpr EventNumber kTimerEvent{0};
inline constexpr EventNumber kCyclesEvent{1};
inline constexpr EventNumber kUtilisationEvent{2};

class SamplingRequests final : public ControlTaker {
public:
    // Periods of both events: ns for the timer, cycles for the other. The loop must run every few milliseconds.
    static constexpr std::uint64_t kPeriodMin = 100'000;
    static constexpr std::uint64_t kPeriodMax = 10'000'000;

    struct Setting {
        std::uint64_t ticks_per_second = 0;
        std::uint64_t timer_period_ns = 0;
        bool is_in_step = false;  // cycle samples follow the load's loop, not requests
        bool is_traced = false;
    };

    // `sampler` is borrowed.
    SamplingRequests(Sampler& sampler, const Setting& setting) : sampler_{sampler}, setting_{setting} {}

    [[nodiscard]] ControlAnswer take_request(const ControlRequest& order) override;

    // Whether utilisation windows are sent.
    [[nodiscard]] bool tells_utilisation() const { return tells_utilisation_; }
    // The time that a timer sample stands for.
    [[nodiscard]] std::uint64_t timer_period_ns() const { return setting_.timer_period_ns; }

private:
    Sampler& sampler_;
    Setting setting_;
    bool tells_utilisation_ = true;
};

}  // namespace perfleet::bare_metal
