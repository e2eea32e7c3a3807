// Run times in consecutive windows: of the whole system, the idle thread and each thread that the collector knows.
//
// A window begins by resetting the threads and then the log: in the other order, the running thread would lose its
// start time. On one core, and if every thread is known, the threads' cycles and the idle thread's make up the total
// exactly. Freestanding; one thread.
#pragma once

#include <array>
#include <cstdint>

#include "schemas/vocabulary/result.h"
#include "target-collector/message/row_sink.h"
#include "target-collector/source/sel4/kernel_interface.h"
#include "target-collector/source/sel4/log_buffer.h"

namespace perfleet::sel4 {

class UtilisationWindow {
public:
    // Borrows `kernel`; threads 1 to `thread_count`, at most kThreadsMax.
    UtilisationWindow(KernelInterface& kernel, EventNumber event, std::uint32_t thread_count);

    // Faults: as check_log_call(); read_utilisation().
    [[nodiscard]] Checked<Done> begin();
    // Ends the window, passes on its rows, and begins the next. A thread that is gone has no row; its number may be
    // reused later.
    [[nodiscard]] Checked<Done> turn(RowSink& sink);

    // Cycles of a thread that isn't running now, since the first window began; never decreases. Time between two
    // windows isn't counted.
    [[nodiscard]] std::uint64_t cycles_of(ThreadNumber thread);

    // The part of cycles_of() from finished windows.
    [[nodiscard]] std::uint64_t cycles_before_window(ThreadNumber thread) const {
        return ended_cycles_[thread.value - 1];
    }

    // Whether the thread was gone at the end of the last window.
    [[nodiscard]] bool is_gone(ThreadNumber thread) const { return is_gone_[thread.value - 1]; }

    // For the last finished window: the total minus the cycles of all threads and idle.
    [[nodiscard]] std::int64_t unaccounted_cycles() const { return unaccounted_cycles_; }

private:
    void append(RowSink& sink, Ticks now, std::uint64_t thread, const UtilisationFigures& figures);

    KernelInterface& kernel_;
    EventNumber event_;
    std::uint32_t thread_count_;
    Ticks begun_;
    std::int64_t unaccounted_cycles_ = 0;
    std::array<std::uint64_t, kThreadsMax> ended_cycles_{};  // of all earlier windows
    std::array<bool, kThreadsMax> is_gone_{};
};

}  // namespace perfleet::sel4
