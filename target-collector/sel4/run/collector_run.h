// The collector's run on seL4, in a root task or in a protection domain. Woken by ticks, it samples the watched
// threads, follows the kernel's log or utilisation, passes on round trips and its own time, and streams all of it to a
// gateway meanwhile.
//
// Freestanding; one thread. Nothing here waits: the caller waits for interrupts and calls turn().
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "target-collector/sel4/run/events.h"
#include "target-collector/sel4/run/machine.h"
#include "target-collector/sel4/run/run_requests.h"
#include "target-collector/sel4/run/tick.h"
#include "target-collector/small/collector_sink.h"
#include "target-collector/small/small_collector.h"
#include "target-collector/source/sel4/log_source.h"
#include "target-collector/source/sel4/thread_sampler.h"
#include "target-collector/source/sel4/utilisation_window.h"

namespace perfleet::sel4 {

// Drops what the kernel gathered while the event was stopped.
class NoSink final : public RowSink {
public:
    void append(const RowView& /*row*/) override {}
    void count_lost(Series /*series*/, CountName /*reason*/, std::uint64_t /*row_count*/) override {}
    void count(Series /*series*/, CountName /*name*/, std::uint64_t /*value*/) override {}
    [[nodiscard]] bool epoch_is_over() const override { return false; }
    void begin_epoch(Ticks /*now*/) override {}
};

class CollectorRun {
public:
    static constexpr std::uint32_t kPid = 1;
    static constexpr std::uint32_t kOwnThread = 1;  // the collector's own number among the threads
    static constexpr std::uint64_t kGreetingSeconds = 10;

    // Borrows all, including the data that `sampled` refers to. `thread_count`: threads whose utilisation the kernel
    // reports.
    struct Parts {
        KernelInterface& kernel;
        SmallCollector& collector;
        const RunEvents& events;
        const Machine& machine;
        TickTimer& timer;
        RunRequests& requests;
        std::uint64_t cycles_per_second;
        std::uint32_t thread_count;
        std::span<const SampledThread> sampled;
    };
    explicit CollectorRun(const Parts& parts);

    // Starts ticks. The kernel's measurements begin when the session has its id, because there is little space for
    // earlier rows: at once if the collector chose it, else when the gateway grants it, or after kGreetingSeconds
    // without one. Stops if the kernel lacks what its features promise: a bug.
    void begin();
    // Call it after each interrupt: does all that is due.
    void turn(WakeCauses causes);
    // Whether it has measured for `seconds`.
    [[nodiscard]] bool is_over(std::uint64_t seconds) const;
    // Ends the ticks. After it, and before finish(), the caller may stop threads.
    void end_ticks();
    // Sends the rest, and Bye; returns when all is acknowledged, or after some seconds.
    void finish();

    struct Counts {
        std::uint64_t samples = 0;
        std::uint64_t own_cycles = 0;  // of the collector itself
        std::uint64_t cycles = 0;      // measured
        std::uint64_t windows = 0;     // of utilisation
        std::uint64_t windows_unaccounted = 0;
        std::size_t round_trips = 0;
    };
    [[nodiscard]] const Counts& counts() const { return counts_; }
    // Null: this kernel has no log.
    [[nodiscard]] const LogFollower::Counts* log_counts() const { return log_ ? &log_->counts() : nullptr; }

private:
    void measure_when_due(Ticks now);
    void forget_what_was_stopped();
    [[nodiscard]] RowSink& sink_of_mode();
    void take_samples(ThreadSampler& sampler, EventNumber event, Ticks now);
    void follow_log();
    void finish_log();
    void pass_round_trips();
    void read_counters();
    void pass_second(Ticks now);
    void append_counter(EventNumber event, Ticks now, std::uint32_t pid, std::uint32_t tid, std::uint64_t value);

    KernelInterface& kernel_;
    SmallCollector& collector_;
    CollectorSink sink_;
    NoSink no_sink_;
    const Machine& machine_;
    TickTimer& timer_;
    RunRequests& requests_;
    EventNumber event_of_mode_;
    std::uint64_t cycles_per_second_;
    std::optional<UtilisationWindow> utilisation_;
    std::optional<LogSource> log_;
    std::optional<ThreadSampler> sampler_;
    std::optional<ThreadSampler> cycle_sampler_;
    bool is_measuring_ = false;
    Ticks begun_;  // of measuring; before, of the ticks
    Ticks second_begun_;
    Counts counts_;
};

}  // namespace perfleet::sel4
