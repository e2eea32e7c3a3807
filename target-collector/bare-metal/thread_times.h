// Who has the core: cycles, switches and kernel entries of each thread, counted at every entry to and return from EL1
// by an event counter of the PMU that nothing else uses.
//
// One thread (EL1, interrupts masked).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace perfleet::bare_metal {

struct ThreadCycles {
    std::uint64_t cycles = 0;  // at EL0, and at EL1 for it
    std::uint64_t schedules = 0;
    std::uint64_t kernel_cycles = 0;
    std::uint64_t kernel_entries = 0;
};

class ThreadTimes {
public:
    static constexpr std::size_t kThreads = 2;

    // From now on; `running` goes on at EL0.
    void start(std::size_t running);

    // EL0 was left, or is about to be entered: `running` by whom.
    void enter_kernel(std::size_t running);
    void leave_kernel(std::size_t running);

    [[nodiscard]] const std::array<ThreadCycles, kThreads>& figures() const { return figures_; }
    // Of the window, up to the last entry or return. Less than four seconds of it: the counter has 32 bits.
    [[nodiscard]] std::uint64_t window_cycles() const { return read_at_ - window_began_at_; }
    // A window is over, and the next begins.
    void begin_window();

private:
    // Cycles since the last call.
    [[nodiscard]] std::uint64_t lap();

    std::uint32_t read_at_ = 0;
    std::uint32_t window_began_at_ = 0;
    std::size_t last_running_ = 0;
    std::array<ThreadCycles, kThreads> figures_{};
};

}  // namespace perfleet::bare_metal
