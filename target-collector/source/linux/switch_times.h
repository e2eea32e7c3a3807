// How long threads are off the CPU by the switches that perf_event tells of: for machines where no BPF program may
// follow them (bpf/off_cpu_tracer.h). Blocked and runnable can't be told apart but for a thread that was preempted: the
// time until a thread that has blocked is back on a CPU counts as blocked.
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

    // About so much time off the CPU has one row; periods vary by a half to either side.
    explicit SwitchTimes(std::uint64_t period_ns) : period_ns_{period_ns} {}
    void set_period(std::uint64_t period_ns) { period_ns_ = period_ns; }

    struct Left {
        std::uint64_t time_ns = 0;
        StackNumber stack;
        std::uint64_t epoch = 0;  // whose number it is
    };
    // The thread leaves its CPU. False: there are too many of them.
    bool leave(std::uint32_t tid, const Left& left);
    // It was still runnable when it left.
    void note_preempted(std::uint32_t tid);

    struct Back {
        Left left;
        std::uint64_t blocked_ns = 0;  // what a row weighs now; 0: there is none
        std::uint64_t runnable_ns = 0;
    };
    // It is back. Nothing: no row is due.
    [[nodiscard]] std::optional<Back> come(std::uint32_t tid, std::uint64_t time_ns);

    void forget(std::uint32_t tid) { threads_.erase(tid); }

private:
    // Time that has no row yet, and how much of it has the next one.
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
