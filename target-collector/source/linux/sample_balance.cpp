#include "target-collector/source/linux/sample_balance.h"

#include <linux/perf_event.h>

#include <cstdio>

#include "schemas/vocabulary/time.h"

namespace perfleet {
namespace {

// Losses below both limits are only in the ledger.
constexpr std::uint64_t kRowsWorthAWarning = 20;
constexpr std::uint64_t kDivisorWorthAWarning = 100;

bool is_clock(const EventSpec& spec) {
    return spec.type == PERF_TYPE_SOFTWARE &&
           (spec.config == PERF_COUNT_SW_CPU_CLOCK || spec.config == PERF_COUNT_SW_TASK_CLOCK);
}

bool counts_more_than_it_samples(const EventSpec& spec) {
    return is_clock(spec) && (spec.exclude_user || spec.exclude_kernel || spec.exclude_idle);
}

// 0: the kernel adapts the period, and samples have it.
std::uint64_t period_asked(const OpenEvent& event) {
    if (!event.rate.is_frequency) {
        return event.rate.value;
    }
    return is_clock(event.spec)
               ? static_cast<std::uint64_t>(kNsPerSecond) / std::max<std::uint64_t>(event.rate.value, 1)
               : 0;
}

std::string percent_text(std::uint64_t part, std::uint64_t whole) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.1f %%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
    return text;
}

}  // namespace

SampleBalance::SampleBalance(const EventSet& events)
    : events_{events},
      cpu_count_{events.cpus().size()},
      cells_(events.events().size() * cpu_count_),
      counted_(events.events().size()) {
    for (std::uint32_t i = 0; i < counted_.size(); ++i) {
        unwound_.push_back(events.is_unwound_in_kernel(i) ? 1 : 0);
    }
}

bool SampleBalance::is_held(std::uint32_t event_index) const {
    const OpenEvent& event = events_.events()[event_index];
    return event.spec.is_opened() && !event.spec.takes_switches && event.rate.value > 0 &&
           !counts_more_than_it_samples(event.spec);
}

void SampleBalance::begin(RowSink& sink) const {
    for (std::uint32_t i = 0; i < counted_.size(); ++i) {
        const OpenEvent& event = events_.events()[i];
        if (event.rate.value > 0 && counts_more_than_it_samples(event.spec)) {
            sink.count(events_.series_of(i), CountName::kUnchecked, 1);
        }
    }
}

void SampleBalance::take_lost(std::size_t cpu_index, std::uint64_t record_count) {
    for (std::size_t i = cpu_index; i < cells_.size(); i += cpu_count_) {
        cells_[i].lost_count += record_count;
    }
}

void SampleBalance::take_throttle(std::uint32_t event_index, std::size_t cpu_index, std::uint64_t time, bool is_start) {
    Cell& cell = cells_[(event_index * cpu_count_) + cpu_index];
    if (is_start) {
        cell.throttled_since = time;
    } else if (cell.throttled_since != 0 && time > cell.throttled_since) {
        cell.throttled_ns += time - cell.throttled_since;
        cell.throttled_since = 0;
    }
}

SampleBalance::Missing SampleBalance::missing_of(std::uint32_t event_index,
                                                 const std::vector<EventSet::Reading>& readings,
                                                 const std::vector<EventSet::Reading>& later) const {
    const OpenEvent& event = events_.events()[event_index];
    const bool is_of_clock = is_clock(event.spec);
    const std::uint64_t asked = period_asked(event);
    std::uint64_t heir_count = 0;
    if (!events_.is_system_wide() && event.spec.is_inherited) {
        heir_count = fork_count_;
        for (std::size_t i = counted_.size() * cpu_count_; i < later.size(); ++i) {
            heir_count += later[i].lost_count;  // lost side-band records may have been forks
        }
    }
    Missing missing;
    for (std::size_t cpu_index = 0; cpu_index < cpu_count_; ++cpu_index) {
        const EventSet::Reading& reading = readings[(event_index * cpu_count_) + cpu_index];
        const std::uint64_t lost_count = later[(event_index * cpu_count_) + cpu_index].lost_count;
        const Cell& cell = cells_[(event_index * cpu_count_) + cpu_index];
        missing.ring_lost += lost_count + cell.lost_count;
        const std::uint64_t mean = cell.sample_count > 0 ? cell.weight / cell.sample_count : asked;
        if (mean == 0) {
            continue;
        }
        // A throttled clock stops counting (Linux 6.16), but its running time continues.
        const std::uint64_t counted = is_of_clock ? std::max(reading.value, reading.running_ns) : reading.value;
        const std::uint64_t seen = cell.weight + ((lost_count + cell.lost_count) * mean);
        if (counted <= seen) {
            continue;
        }
        const std::uint64_t gap = counted - seen;
        // Descriptors, and threads that inherited them, may each have counted this much since their last sample.
        const std::uint64_t rest_max = std::max(cell.period_max, asked) - (is_of_clock ? 0 : 1);
        const std::uint64_t rest_count = reading.descriptor_count + heir_count;
        const std::uint64_t rests =
            rest_max > gap / std::max<std::uint64_t>(rest_count, 1) ? gap : rest_max * rest_count;
        const std::uint64_t rows = (gap - rests) / mean;
        missing.below_period += rests / mean;
        missing.rows += rows;
        missing.throttled +=
            cell.throttled_ns > 0 ? (is_of_clock ? std::min(rows, cell.throttled_ns / mean) : rows) : 0;
        missing.late += events_.is_system_wide() ? cell.late_count : 0;
    }
    if (is_of_clock && !(has_met_programs_ && unwound_[event_index] != 0)) {
        missing.late = missing.rows;  // the only possible reason
    } else if (!is_of_clock) {
        missing.late = 0;
    }
    return missing;
}

void SampleBalance::count(const std::vector<EventSet::Reading>& readings, const std::vector<EventSet::Reading>& later,
                          RowSink& sink) {
    has_met_programs_ = has_met_programs_ || events_.meets_other_programs();
    for (std::uint32_t i = 0; i < counted_.size(); ++i) {
        if (!is_held(i)) {
            continue;
        }
        const Missing missing = missing_of(i, readings, later);
        Counted& counted = counted_[i];
        counted.ring_lost = missing.ring_lost;
        std::uint64_t added = missing.rows - std::min(missing.rows, counted.rows());
        const auto count_as = [&](std::uint64_t most, std::uint64_t& counted_before, CountName reason) {
            const std::uint64_t part = std::min(added, most - std::min(most, counted_before));
            if (part > 0) {
                sink.count_lost(events_.series_of(i), reason, part);
                counted_before += part;
                added -= part;
            }
        };
        count_as(missing.throttled, counted.throttled, CountName::kLostThrottled);
        count_as(missing.late, counted.late, CountName::kLostTimerLate);
        count_as(~0ULL, counted.not_delivered, CountName::kLostNotDelivered);
        if (missing.below_period > counted.below_period) {
            sink.count(events_.series_of(i), CountName::kBelowPeriod, missing.below_period - counted.below_period);
            counted.below_period = missing.below_period;
        }
    }
}

std::uint64_t SampleBalance::samples_of(std::uint32_t event_index) const {
    std::uint64_t sum = 0;
    for (std::size_t cpu_index = 0; cpu_index < cpu_count_; ++cpu_index) {
        sum += cells_[(event_index * cpu_count_) + cpu_index].sample_count;
    }
    return sum;
}

SampleBalance::Window SampleBalance::unwound() const {
    Window sum;
    for (std::uint32_t i = 0; i < counted_.size(); ++i) {
        if (is_held(i) && unwound_[i] != 0) {
            sum.samples += samples_of(i);
            sum.dropped += counted_[i].not_delivered;
        }
    }
    return sum;
}

double SampleBalance::take_dropped_share() {
    const Window now = unwound();
    const std::uint64_t dropped = now.dropped - std::min(now.dropped, window_began_.dropped);
    const std::uint64_t all = dropped + now.samples - std::min(now.samples, window_began_.samples);
    if (all < kRowsWorthAWarning * 2) {
        return 0;
    }
    window_began_ = now;
    return static_cast<double>(dropped) / static_cast<double>(all);
}

std::vector<std::string> SampleBalance::warnings() const {
    std::vector<std::string> texts;
    for (std::uint32_t i = 0; i < counted_.size(); ++i) {
        const Counted& counted = counted_[i];
        const std::uint64_t all = samples_of(i) + counted.rows() + counted.ring_lost;
        const std::string& name = events_.events()[i].spec.name;
        const auto warn = [&](std::uint64_t rows, std::uint64_t whole, const std::string& text) {
            if (rows >= kRowsWorthAWarning && rows * kDivisorWorthAWarning > whole) {
                texts.push_back(name + ": " + std::to_string(rows) + " of " + std::to_string(whole) + " rows (" +
                                percent_text(rows, whole) + ") " + text);
            }
        };
        warn(counted.not_delivered, all,
             has_met_programs_
                 ? "were not delivered: the kernel drops samples that hit while another BPF program runs on their CPU; "
                   "--call-graph fp or dwarf has them"
                 : "were not delivered by the kernel");
        warn(counted.throttled, all, "are missing, as the kernel throttled the event: sample less often (-F, -c)");
        warn(counted.late, all,
             "are missing, as the kernel's timer came late: interrupts were off, or the virtual machine didn't run");
        warn(counted.below_period, all + counted.below_period,
             "would be of time that no sample can stand for: threads that ended within a period of the event; sample "
             "more often (-F, -c) or system-wide (-a), or count it (perfleet stat)");
    }
    return texts;
}

}  // namespace perfleet
