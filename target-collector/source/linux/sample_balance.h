// Holds each sampling event against itself: what it counted against the weights of its samples. A sample that the
// kernel makes no record of is in no other count: one that hits while another BPF program runs on its CPU (programs of
// perf_event don't nest), one whose timer comes a period late, one of an event that the kernel throttles.
//
// What is counted as lost is certain, in whole periods: less where it isn't known. Each descriptor, and each thread
// that inherits it, may end within a period: that is no loss, and is counted as kBelowPeriod, as rows that it would
// have been.
//
// One thread. Amounts are in the event's own unit.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "target-collector/message/row_sink.h"
#include "target-collector/source/linux/opening/event_set.h"

namespace perfleet {

class SampleBalance {
public:
    // Borrowed.
    explicit SampleBalance(const EventSet& events);

    // Names the events that can't be held against themselves: clocks that count more than they sample (:u, :k, :I).
    void begin(RowSink& sink) const;

    // A sample came out of the ring of this CPU, whatever becomes of it.
    void take(std::uint32_t event_index, std::size_t cpu_index, std::uint64_t time, std::uint64_t weight) {
        Cell& cell = cells_[(event_index * cpu_count_) + cpu_index];
        cell.weight += weight;
        ++cell.sample_count;
        cell.period_max = std::max(cell.period_max, weight);
        if (time > cell.last_time) {
            // A timer that was late comes between two of its times; where samples were dropped, the next one is on
            // time.
            const std::uint64_t distance = time - cell.last_time + (weight / kOnTimeParts);
            if (weight > 0 && distance >= 2 * weight && cell.last_time != 0 &&
                distance % weight > 2 * weight / kOnTimeParts) {
                cell.late_count += (distance / weight) - 1;
            }
            cell.last_time = time;
        }
    }
    // The kernel says that so many records found no room in the ring of this CPU: kernels that don't count them by
    // event.
    void take_lost(std::size_t cpu_index, std::uint64_t record_count);
    void take_throttle(std::uint32_t event_index, std::size_t cpu_index, std::uint64_t time, bool is_start);
    // A thread has inherited the events.
    void take_fork() { ++fork_count_; }

    // Counts what is missing and wasn't counted before. All records that were written before `readings` have been
    // taken. `later`: the same, or others behind them; what is lost while `readings` are read is among their losses.
    void count(const std::vector<EventSet::Reading>& readings, const std::vector<EventSet::Reading>& later,
               RowSink& sink);

    // Of the samples that BPF programs unwind, the part that was dropped since this was asked last; 0 while there are
    // too few to say. The answer is of a window that begins anew with each one that isn't 0.
    [[nodiscard]] double take_dropped_share();

    // No BPF program unwinds from now on: what was missing before has been counted.
    void forget_unwinder() { unwound_.assign(unwound_.size(), 0); }

    // A sentence for each event of which so many samples are missing that shares may be wrong.
    [[nodiscard]] std::vector<std::string> warnings() const;

private:
    static constexpr std::uint64_t kOnTimeParts = 8;  // of a period: a sample so little off is on time

    struct Cell {  // of an event on a CPU
        std::uint64_t weight = 0;
        std::uint64_t sample_count = 0;
        std::uint64_t period_max = 0;
        std::uint64_t lost_count = 0;  // take_lost()
        std::uint64_t last_time = 0;   // of a sample
        std::uint64_t late_count = 0;  // periods that the timer skipped; of events of CPUs alone
        std::uint64_t throttled_since = 0;
        std::uint64_t throttled_ns = 0;
    };
    struct Missing {
        std::uint64_t rows = 0;
        std::uint64_t throttled = 0;  // of them, at most
        std::uint64_t late = 0;
        std::uint64_t below_period = 0;  // not of them
        std::uint64_t ring_lost = 0;     // likewise
    };
    struct Counted {
        std::uint64_t not_delivered = 0;
        std::uint64_t throttled = 0;
        std::uint64_t late = 0;
        std::uint64_t below_period = 0;
        std::uint64_t ring_lost = 0;  // by KernelLosses

        [[nodiscard]] std::uint64_t rows() const { return not_delivered + throttled + late; }
    };
    struct Window {
        std::uint64_t samples = 0;
        std::uint64_t dropped = 0;
    };

    [[nodiscard]] bool is_held(std::uint32_t event_index) const;
    [[nodiscard]] Missing missing_of(std::uint32_t event_index, const std::vector<EventSet::Reading>& readings,
                                     const std::vector<EventSet::Reading>& later) const;
    [[nodiscard]] std::uint64_t samples_of(std::uint32_t event_index) const;
    [[nodiscard]] Window unwound() const;

    const EventSet& events_;
    std::size_t cpu_count_;
    std::vector<Cell> cells_;            // event e on CPU c at [e * cpu_count_ + c]
    std::vector<Counted> counted_;       // by event
    std::vector<std::uint8_t> unwound_;  // by event: whether a BPF program unwinds its samples
    std::uint64_t fork_count_ = 0;
    bool has_met_programs_ = false;  // of others, which keep those that unwind from being run
    Window window_began_;
};

}  // namespace perfleet
