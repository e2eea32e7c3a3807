// Control requests that the collector accepts: start and stop each of its events, and change the sampling periods.
//
// One thread.
#pragma once

#include <cstdint>

#include "target-collector/message/control.h"
#include "target-collector/sel4/run/machine.h"
#include "target-collector/sel4/run/tick.h"

namespace perfleet::sel4 {

class RunRequests final : public ControlTaker {
public:
    struct Setting {
        std::size_t event_count = 0;  // RunEvents::descriptions()
        std::uint64_t cycles_per_second = 0;
    };

    // Borrows all; `cycles`: null if there are none.
    RunRequests(const Setting& setting, TickTimer& timer, CycleInterrupts* cycles);

    [[nodiscard]] ControlAnswer take_request(const ControlRequest& order) override;

    // Whether rows of the event are sent.
    [[nodiscard]] bool is_running(EventNumber event) const { return (running_ >> event.value & 1) != 0; }
    // True once after each start: then whatever the event gathered while stopped must be dropped.
    [[nodiscard]] bool take_start(EventNumber event);

private:
    [[nodiscard]] ControlAnswer set_running(EventNumber event, bool is_running);
    [[nodiscard]] ControlAnswer set_period(EventNumber event, std::uint64_t cycles);

    Setting setting_;
    TickTimer& timer_;
    CycleInterrupts* cycles_;
    std::uint32_t running_;  // a bit for each event
    std::uint32_t started_ = 0;
};

}  // namespace perfleet::sel4
