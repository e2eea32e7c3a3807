// The processor's event counters, which EL0 may use if the kernel allows it (KernelArmExportPMUUser). They count for
// the whole core. If the kernel is patched to let overflows interrupt (PMINTENSET_EL1 isn't accessible at EL0), one
// also interrupts after a number of EL0 cycles.
//
// One thread. The cycle counter itself is never written: the kernel's timestamps come from it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "schemas/vocabulary/time.h"
#include "target-collector/pmu/pmu_description.h"
#include "target-collector/sel4/kernel/libsel4.h"
#include "target-collector/sel4/run/machine.h"
#include "target-collector/small/jittered_period.h"

namespace perfleet::sel4 {

// The properties that EL0 can read: not the version.
[[nodiscard]] PmuDescription describe_pmu();

class PmuCounters final : public EventCounters {
public:
    // Starts those events of the table that this processor has.
    PmuCounters();

    [[nodiscard]] std::size_t count() const override { return count_; }
    [[nodiscard]] std::string_view name(std::size_t index) const override;
    [[nodiscard]] std::uint64_t read(std::size_t index) override;

private:
    // Cycles use the cycle counter, whose 64 bits never wrap; event counters would wrap every few seconds.
    static constexpr std::uint8_t kCycleCounter = 31;
    struct Source {
        std::uint8_t event = 0;  // index in the table
        std::uint8_t counter = 0;
    };

    Ticks begun_cycles_;
    std::size_t count_ = 0;
    std::array<Source, kEventsMax> sources_{};
    std::array<std::uint32_t, kEventsMax> last_{};
    std::array<std::uint64_t, kEventsMax> totals_{};
};

// The processor's last event counter, which interrupts after a number of EL0 cycles.
class CycleOverflow final : public CycleInterrupts {
public:
    static constexpr seL4_Word kInterrupt = 23;  // the PMU's private interrupt

    // `interrupt`: the handler of that interrupt. Periods have jitter.
    CycleOverflow(seL4_CPtr interrupt, std::uint64_t period_cycles, std::uint64_t seed);

    // Whether overflows interrupt at all: triggers one and checks for its interrupt. `notification` is what the
    // interrupt signals; nothing may be pending on it.
    [[nodiscard]] bool works(seL4_CPtr notification);
    void start() override;
    void stop() override;
    void set_period(std::uint64_t cycles) override { period_.set_mean(cycles); }
    [[nodiscard]] bool go_on() override;

private:
    void load(std::uint64_t cycles) const;

    seL4_CPtr interrupt_;
    std::uint64_t counter_;  // its number
    JitteredPeriod period_;
};

}  // namespace perfleet::sel4
