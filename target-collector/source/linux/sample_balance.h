// Detects samples that the kernel never recorded, by comparing each event's count with the weights of its samples. No
// other count includes them: samples that hit while another BPF program runs on the CPU (perf_event programs don't
// nest), whose timer is a period late, or that are throttled.
//
// Counts only certain losses, in whole periods; less in case of doubt. Each descriptor, and each thread that inherits
// it, may end within a period: that is no loss and is counted as kBelowPeriod, in rows.
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

    // Names the events that can't be compared: clocks that count more than they sample (:u, :k, :I).
    void begin(RowSink& sink) const;

    // Counts a sample from the ring of this CPU, whatever happens to it later.
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
    // Counts records that had no space in the ring of this CPU, for kernels that don't count them by event.
    void take_lost(std::size_t cpu_index, std::uint64_t record_count);
    void take_throttle(std::uint32_t event_index, std::size_t cpu_index, std::uint64_t time, bool is_start);
    // A thread has inherited the events.
    void take_fork() { ++fork_count_; }

    // Counts new missing samples. All records written before `readings` must have been processed. `later`: the same
    // readings, or later ones, whose losses include those during `readings`.
    void count(const std::vector<EventSet::Reading>& readings, const std::vector<EventSet::Reading>& later,
               RowSink& sink);

    // The dropped fraction of samples that BPF programs unwind, since the last call with enough samples; 0 while
    // there are too few.
    [[nodiscard]] double take_dropped_share();

    // BPF unwinding has ended; missing samples must have been counted.
    void forget_unwinder() { unwound_.assign(unwound_.size(), 0); }

    // A warning for each event that misses so many samples that shares may be wrong.
    [[nodiscard]] std::vector<std::string> warnings() const;

private:
    static constexpr std::uint64_t kOnTimeParts = 8;  // fraction of a period within which a sample is on time

    struct Cell {  // of an event on a CPU
        std::uint64_t weight = 0;
        std::uint64_t sample_count = 0;
        std::uint64_t period_max = 0;
        std::uint64_t lost_count = 0;  // take_lost()
        std::uint64_t last_time = 0;   // of a sample
        std::uint64_t late_count = 0;  // periods skipped by the timer; only for events of CPUs
        std::uint64_t throttled_since = 0;
        std::uint64_t throttled_ns = 0;
    };
    struct Missing {
        std::uint64_t rows = 0;
        std::uint64_t throttled = 0;  // of them, at most
        std::uint64_t late = 0;
        std::uint64_t below_period = 0;  // not among them
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
    bool has_met_programs_ = false;  // other users' BPF programs, which prevent runs of those that unwind
    Window window_began_;
};

}  // namespace perfleet
