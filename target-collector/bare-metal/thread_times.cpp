#include "target-collector/bare-metal/thread_times.h"

#include "target-collector/bare-metal/registers.h"

namespace perfleet::bare_metal {
namespace {

constexpr std::uint64_t kCpuCycles = 0x11;  // event of the architecture, at all exception levels
constexpr std::uint64_t kFirstCounter = 1U << 0;

std::uint32_t read_cycles() { return static_cast<std::uint32_t>(PERFLEET_READ_REGISTER(pmevcntr0_el0)); }

}  // namespace

void ThreadTimes::start(std::size_t running) {
    PERFLEET_WRITE_REGISTER(pmevtyper0_el0, kCpuCycles);
    PERFLEET_WRITE_REGISTER(pmevcntr0_el0, 0);
    PERFLEET_WRITE_REGISTER(pmcntenset_el0, kFirstCounter);
    synchronise();
    read_at_ = read_cycles();
    last_running_ = running;
    begin_window();
}

std::uint64_t ThreadTimes::lap() {
    const std::uint32_t now = read_cycles();
    const std::uint32_t since = now - read_at_;
    read_at_ = now;
    return since;
}

void ThreadTimes::enter_kernel(std::size_t running) {
    ThreadCycles& thread = figures_[running];
    thread.cycles += lap();
    ++thread.kernel_entries;
}

void ThreadTimes::leave_kernel(std::size_t running) {
    // Time in the kernel is charged to the interrupted thread.
    const std::uint64_t cycles = lap();
    figures_[last_running_].cycles += cycles;
    figures_[last_running_].kernel_cycles += cycles;
    figures_[running].schedules += running != last_running_ ? 1 : 0;
    last_running_ = running;
}

void ThreadTimes::begin_window() {
    window_began_at_ = read_at_;
    figures_ = {};
    figures_[last_running_].schedules = 1;
}

}  // namespace perfleet::bare_metal
