#include "target-collector/sel4/kernel/aarch64/pmu.h"

#include "target-collector/bare-metal/registers.h"
#include "target-collector/pmu/pmu.h"
#include "target-collector/sel4/kernel/cycles.h"

namespace perfleet::sel4 {
namespace {

struct PmuEvent {
    std::string_view name;
    std::uint32_t number;  // Arm Architecture Reference Manual, D13.12: common events
};
// The most informative ones come first in this table.
constexpr PmuEvent kEvents[] = {{"instructions", 0x08}, {"cpu cycles", 0x11},    {"l1d refills", 0x03},
                                {"l2d refills", 0x17},  {"branch misses", 0x10}, {"memory accesses", 0x13},
                                {"bus accesses", 0x19}, {"exceptions", 0x09}};
constexpr std::uint32_t kCpuCycles = 0x11;
constexpr unsigned kCounterBits = 32;
#ifdef CONFIG_ARM_HYPERVISOR_SUPPORT
constexpr std::uint64_t kInKernel = 1ULL << 27;  // it runs at EL2
#else
constexpr std::uint64_t kInKernel = 0;
#endif

std::uint64_t counter_count() { return bare_metal::pmu::counter_count(PERFLEET_READ_REGISTER(pmcr_el0)); }

void select(std::uint64_t counter) {
    PERFLEET_WRITE_REGISTER(pmselr_el0, counter);
    bare_metal::synchronise();
}

}  // namespace

PmuDescription describe_pmu() { return pmu_of_pmcr(PERFLEET_READ_REGISTER(pmcr_el0), ArmPmuVersion::kV3); }

PmuCounters::PmuCounters() : begun_cycles_{cycles()} {
    const std::uint64_t there = PERFLEET_READ_REGISTER(pmceid0_el0);
    const std::uint64_t counters = counter_count() - 1;  // the last one is CycleOverflow's
    std::uint8_t used = 0;
    for (std::uint8_t i = 0; i < std::size(kEvents) && count_ < kEventsMax; ++i) {
        const bool is_cycles = kEvents[i].number == kCpuCycles;
        if ((there >> kEvents[i].number & 1) == 0 || (!is_cycles && used == counters)) {
            continue;
        }
        if (!is_cycles) {
            select(used);
            PERFLEET_WRITE_REGISTER(pmxevtyper_el0, kEvents[i].number | kInKernel);
            PERFLEET_WRITE_REGISTER(pmxevcntr_el0, 0);
            PERFLEET_WRITE_REGISTER(pmcntenset_el0, 1ULL << used);
        }
        sources_[count_++] = {i, is_cycles ? kCycleCounter : used++};
    }
    bare_metal::synchronise();
}

std::string_view PmuCounters::name(std::size_t index) const { return kEvents[sources_[index].event].name; }

std::uint64_t PmuCounters::read(std::size_t index) {
    if (sources_[index].counter == kCycleCounter) {
        return cycles().value - begun_cycles_.value;
    }
    select(sources_[index].counter);
    const auto now = static_cast<std::uint32_t>(PERFLEET_READ_REGISTER(pmxevcntr_el0));
    totals_[index] += static_cast<std::uint32_t>(now - last_[index]);
    last_[index] = now;
    return totals_[index];
}

CycleOverflow::CycleOverflow(seL4_CPtr interrupt, std::uint64_t period_cycles, std::uint64_t seed)
    : interrupt_{interrupt}, counter_{counter_count() - 1}, period_{period_cycles, seed} {
    select(counter_);
    PERFLEET_WRITE_REGISTER(pmxevtyper_el0, kCpuCycles | bare_metal::pmu::kNotAtEl1);
    stop();
}

void CycleOverflow::load(std::uint64_t cycles) const {
    select(counter_);
    PERFLEET_WRITE_REGISTER(pmxevcntr_el0, bare_metal::pmu::overflow_start(kCounterBits, cycles));
    bare_metal::synchronise();
}

bool CycleOverflow::works(seL4_CPtr notification) {
    constexpr std::uint64_t kSoon = 1'000;
    constexpr int kTimeout = 100'000;
    start();
    load(kSoon);
    seL4_Word badge = 0;
    for (int i = 0; i < kTimeout && badge == 0; ++i) {
        (void)seL4_Poll(notification, &badge);
    }
    stop();
    return badge != 0;
}

void CycleOverflow::start() {
    PERFLEET_WRITE_REGISTER(pmovsclr_el0, 1ULL << counter_);
    load(period_.next());
    PERFLEET_WRITE_REGISTER(pmcntenset_el0, 1ULL << counter_);
    bare_metal::synchronise();
    (void)seL4_IRQHandler_Ack(interrupt_);
}

void CycleOverflow::stop() {
    PERFLEET_WRITE_REGISTER(pmcntenclr_el0, 1ULL << counter_);
    PERFLEET_WRITE_REGISTER(pmovsclr_el0, 1ULL << counter_);
    bare_metal::synchronise();
}

bool CycleOverflow::go_on() {
    const std::uint64_t overflows = PERFLEET_READ_REGISTER(pmovsclr_el0);
    const bool is_own = (overflows >> counter_ & 1) != 0;
    // In this order: if it were cleared after loading, an overflow in between would be lost, and sampling would end for
    // good. Those of other counters, which wrap as they may, are cleared, too: they would interrupt again and again.
    PERFLEET_WRITE_REGISTER(pmovsclr_el0, overflows);
    if (is_own) {
        load(period_.next());
    }
    (void)seL4_IRQHandler_Ack(interrupt_);
    return is_own;
}

}  // namespace perfleet::sel4
