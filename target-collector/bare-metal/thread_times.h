// CPU use of threads: cycles, switches and kernel entries of each, counted at every entry to and return from EL1 by an
// event counter of the PMU that nothing else uses.
//
// One thread (EL1, interrupts masked).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace perfleet::bare_metal {

struct ThreadCycles {
    std::uint64_t cycles = 0;  // at EL0, and at EL1 on its behalf
    std::uint64_t schedules = 0;
    std::uint64_t kernel_cycles = 0;
    std::uint64_t kernel_entries = 0;
};

class ThreadTimes {
public:
    static constexpr std::size_t kThreads = 2;

    // Starts counting; `running` continues at EL0.
    void start(std::size_t running);

    // Call it when `running` has left EL0, or is about to enter it.
    void enter_kernel(std::size_t running);
    void leave_kernel(std::size_t running);

    [[nodiscard]] const std::array<ThreadCycles, kThreads>& figures() const { return figures_; }
    // Cycles of the window, up to the last entry or return. Windows must be shorter than four seconds: the counter has
    // 32 bits.
    [[nodiscard]] std::uint64_t window_cycles() const { return read_at_ - window_began_at_; }
    // Ends the window, and begins the next.
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
