// Measures off-CPU time from perf_event's switch records, for machines without BPF programs for it
// (bpf/off_cpu_tracer.h). Blocked and runnable time are only separated for preempted threads: otherwise the whole time
// until the thread is back on a CPU counts as blocked.
//
// A value. One thread; bounded: kThreadsMax.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <unordered_map>

#include "schemas/vocabulary/ids.h"

namespace perfleet {

class SwitchTimes {
public:
    static constexpr std::size_t kThreadsMax = 65'536;

    // `period_ns`: average off-CPU time per row; each period varies by up to half in either direction.
    explicit SwitchTimes(std::uint64_t period_ns) : period_ns_{period_ns} {}
    void set_period(std::uint64_t period_ns) { period_ns_ = period_ns; }

    struct Left {
        std::uint64_t time_ns = 0;
        StackNumber stack;
        std::uint64_t epoch = 0;  // epoch of its stack number
    };
    // The thread leaves its CPU. False: too many threads.
    bool leave(std::uint32_t tid, const Left& left);
    // It was preempted: still runnable when it left.
    void note_preempted(std::uint32_t tid);

    struct Back {
        Left left;
        std::uint64_t blocked_ns = 0;  // weight of the row; 0: no row
        std::uint64_t runnable_ns = 0;
    };
    // It is back on a CPU. Nothing: no row is due.
    [[nodiscard]] std::optional<Back> come(std::uint32_t tid, std::uint64_t time_ns);

    void forget(std::uint32_t tid) { threads_.erase(tid); }

private:
    // Off-CPU time without a row so far, and the sum at which the next row is due.
    struct Sum {
        std::uint64_t time_ns = 0;
        std::uint64_t due_ns = 0;
    };
    struct Thread {
        Left left;
        bool is_away = false;
        bool is_preempted = false;
        Sum blocked;
        Sum runnable;
    };
    [[nodiscard]] std::uint64_t random_below(std::uint64_t limit);
    [[nodiscard]] std::uint64_t take_due(Sum& sum);

    std::uint64_t period_ns_;
    std::minstd_rand random_{std::random_device{}()};
    std::unordered_map<std::uint32_t, Thread> threads_;
};

}  // namespace perfleet
