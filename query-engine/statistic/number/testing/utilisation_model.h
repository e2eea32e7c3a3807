// A model of the kernel's book-keeping of utilisation on one core: the counters after windows, resets and switches, and
// after calls in the wrong order.
//
// Plain values. Times are cycles and never decrease. Threads are numbered by the caller; kIdle is the idle thread.
#pragma once

#include <cstdint>
#include <map>

namespace perfleet {

class UtilisationReplay {
public:
    static constexpr std::uint64_t kIdle = 0;

    explicit UtilisationReplay(std::uint64_t running) : running_{running} {}

    // Begins to count: the totals and the idle thread's counters are reset, those of other threads are not.
    void reset_log(std::uint64_t time) {
        is_counting_ = true;
        threads_[kIdle] = {};
        threads_[running_].switched_in = time;
        window_start_ = time;
        schedules_ = 1;
    }
    // Takes a thread's start time, too: behind reset_log() that is a thread that seems to run since time 0.
    void reset_thread(std::uint64_t thread) { threads_[thread] = {}; }
    // The thread that ran gets the time since it was switched to.
    void switch_to(std::uint64_t thread, std::uint64_t time) {
        if (is_counting_) {
            Counter& heir = threads_[running_];
            if (time > heir.switched_in) {
                heir.cycles += time - heir.switched_in;
            }
            threads_[thread].switched_in = time;
            ++schedules_;
        }
        running_ = thread;
    }
    // Ends to count; resets nothing. Without reset_log() before it there is no window.
    void finalize_log(std::uint64_t time) {
        const std::uint64_t running = running_;
        switch_to(kIdle, time);
        running_ = running;
        window_end_ = time;
        is_counting_ = false;
    }

    [[nodiscard]] std::uint64_t cycles(std::uint64_t thread) const {
        const auto counter = threads_.find(thread);
        return counter == threads_.end() ? 0 : counter->second.cycles;
    }
    // As the kernel reckons it, window or not: without one it is the clock itself.
    [[nodiscard]] std::uint64_t total_cycles() const { return window_end_ - window_start_; }
    // 0: there was no window.
    [[nodiscard]] std::uint64_t total_schedules() const { return schedules_; }

private:
    struct Counter {
        std::uint64_t cycles = 0;
        std::uint64_t switched_in = 0;
    };

    std::map<std::uint64_t, Counter> threads_;
    std::uint64_t running_;
    std::uint64_t window_start_ = 0;
    std::uint64_t window_end_ = 0;
    std::uint64_t schedules_ = 0;
    bool is_counting_ = false;
};

}  // namespace perfleet
