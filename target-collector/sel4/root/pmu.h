// The processor's event counters, which EL0 may use where the kernel lets it (KernelArmExportPMUUser): what the whole
// core did, and, where the kernel was patched to let overflows interrupt (PMINTENSET_EL1 is out of EL0's reach), an
// interrupt each so many cycles of EL0.
//
// One thread. The cycle counter itself is never written: the kernel's timestamps are of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "target-collector/sel4/root/objects.h"
#include "target-collector/small/jittered_period.h"

namespace perfleet::sel4 {

class EventCounters {
public:
    static constexpr std::size_t kEventsMax = 4;

    // Starts those that this processor has, of the table of events.
    EventCounters();

    [[nodiscard]] std::size_t count() const { return count_; }
    [[nodiscard]] std::string_view name(std::size_t index) const;
    // Since they were started; to be read more often than 32 bits wrap.
    [[nodiscard]] std::uint64_t read(std::size_t index);

private:
    std::size_t count_ = 0;
    std::array<std::uint8_t, kEventsMax> events_{};  // in the table
    std::array<std::uint32_t, kEventsMax> last_{};
    std::array<std::uint64_t, kEventsMax> totals_{};
};

// The processor's last event counter, counting cycles of EL0 down to an interrupt.
class CycleOverflow {
public:
    // Interrupts signal `notification`. Periods have jitter.
    CycleOverflow(Objects& objects, seL4_CPtr notification, std::uint64_t period_cycles, std::uint64_t seed);

    // Whether overflows interrupt at all: lets one happen and looks whether it comes. `notification` as above, with
    // nothing pending.
    [[nodiscard]] bool works(seL4_CPtr notification);
    void start();
    void stop();
    void set_period(std::uint64_t cycles) { period_.set_mean(cycles); }  // from the next one on
    // To be called when the PMU's interrupt came. True: its period is over, and the next one has begun.
    [[nodiscard]] bool go_on();

private:
    void load(std::uint64_t cycles) const;

    seL4_CPtr interrupt_;
    std::uint64_t counter_;  // its number
    JitteredPeriod period_;
};

}  // namespace perfleet::sel4
