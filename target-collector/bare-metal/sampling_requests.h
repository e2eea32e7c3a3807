// What an operator may order this image to do: start and stop its sampling by timer and by cycles, give them other
// periods, and start and stop what it tells of its threads.
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
    // Of both events: ns of the timer's, cycles of the other's. The loop has to go round every few milliseconds.
    static constexpr std::uint64_t kPeriodMin = 100'000;
    static constexpr std::uint64_t kPeriodMax = 10'000'000;

    struct Setting {
        std::uint64_t ticks_per_second = 0;
        std::uint64_t timer_period_ns = 0;
        bool is_in_step = false;  // its cycles follow the load's loop, and no requests
        bool is_traced = false;
    };

    // `sampler` is borrowed.
    SamplingRequests(Sampler& sampler, const Setting& setting) : sampler_{sampler}, setting_{setting} {}

    [[nodiscard]] ControlAnswer take_request(const ControlRequest& order) override;

    // Whether windows of utilisation are told.
    [[nodiscard]] bool tells_utilisation() const { return tells_utilisation_; }
    // What a sample of the timer stands for.
    [[nodiscard]] std::uint64_t timer_period_ns() const { return setting_.timer_period_ns; }

private:
    Sampler& sampler_;
    Setting setting_;
    bool tells_utilisation_ = true;
};

}  // namespace perfleet::bare_metal
