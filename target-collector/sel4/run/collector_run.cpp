#include "target-collector/sel4/run/collector_run.h"

#include "schemas/vocabulary/assert.h"
#include "schemas/vocabulary/named_row.h"
#include "target-collector/small/tick_time.h"

namespace perfleet::sel4 {
namespace {

constexpr std::uint64_t kFarewellSeconds = 30;    // for what isn't acknowledged yet
constexpr std::uint64_t kRecordsPerTick = 1'024;  // of the log
// A counter of 32 bits wraps in 215 ms at 20 events a nanosecond: by then it was read, at any period that is allowed.
constexpr std::uint64_t kTicksPerCounterRead = 16;
constexpr int kLooksAtTheEnd = 2;  // the first takes what was known, the second what was logged meanwhile

}  // namespace

CollectorRun::CollectorRun(const Parts& parts)
    : kernel_{parts.kernel},
      collector_{parts.collector},
      sink_{parts.collector},
      machine_{parts.machine},
      timer_{parts.timer},
      requests_{parts.requests},
      event_of_mode_{parts.events.first_of_mode()},
      cycles_per_second_{parts.cycles_per_second} {
    const BenchmarkMode mode = kernel_.features().mode;
    if (mode == BenchmarkMode::kUtilisation) {
        utilisation_.emplace(kernel_, event_of_mode_, parts.thread_count);
    } else if (mode != BenchmarkMode::kNone) {
        log_.emplace(kernel_, event_of_mode_);
    }
    UtilisationWindow* const utilisation = utilisation_ ? &*utilisation_ : nullptr;
    sampler_.emplace(kernel_, utilisation, parts.sampled);
    if (machine_.cycles != nullptr) {
        cycle_sampler_.emplace(kernel_, utilisation, parts.sampled);
    }
}

void CollectorRun::begin() {
    begun_ = kernel_.now();
    timer_.start();
    measure_when_due(begun_);
}

void CollectorRun::measure_when_due(Ticks now) {
    const bool has_session = !collector_.status().session.is_none();
    if (!has_session && now.value - begun_.value < kGreetingSeconds * cycles_per_second_) {
        return;
    }
    is_measuring_ = true;
    if (log_) {
        PERFLEET_ASSERT(log_->start().ok());
    }
    if (utilisation_) {
        PERFLEET_ASSERT(utilisation_->begin().ok());
    }
    begun_ = second_begun_ = kernel_.now();
    if (machine_.cycles != nullptr) {
        machine_.cycles->start();
    }
}

void CollectorRun::turn(WakeCauses causes) {
    const Ticks woken = kernel_.now();
    if (!is_measuring_) {
        if (causes.is_tick) {
            timer_.go_on();
        }
        collector_.step(woken);
        measure_when_due(woken);
        return;
    }
    forget_what_was_stopped();
    if (causes.is_cycles && machine_.cycles->go_on()) {
        take_samples(*cycle_sampler_, RunEvents::kCycleSamples, woken);
    }
    if (causes.is_tick) {
        timer_.go_on();
        if (timer_.coverage().ticks % kTicksPerCounterRead == 0) {
            read_counters();
        }
        take_samples(*sampler_, RunEvents::kSamples, woken);
        if (machine_.load != nullptr) {
            machine_.load->drive(timer_.coverage().ticks);
        }
    }
    follow_log();
    pass_round_trips();
    if (woken.value - second_begun_.value >= cycles_per_second_) {
        second_begun_ = woken;
        pass_second(woken);
    }
    // Now: a request's time must be later than that of every row before it.
    collector_.step(kernel_.now());
    const Ticks done = kernel_.now();
    counts_.own_cycles += done.value - woken.value;
    counts_.cycles = done.value - begun_.value;
}

bool CollectorRun::is_over(std::uint64_t seconds) const { return counts_.cycles >= seconds * cycles_per_second_; }

void CollectorRun::end_ticks() {
    timer_.stop();
    if (machine_.cycles != nullptr) {
        machine_.cycles->stop();
    }
}

void CollectorRun::finish() {
    if (is_measuring_) {
        pass_round_trips();
        pass_second(kernel_.now());
        finish_log();
    }
    collector_.finish();
    const Ticks stopped = kernel_.now();
    while (!collector_.is_finished() && kernel_.now().value - stopped.value < kFarewellSeconds * cycles_per_second_) {
        collector_.step(kernel_.now());
    }
}

// Of events that were started again.
void CollectorRun::forget_what_was_stopped() {
    const auto forget = [](ThreadSampler& sampler) {
        for (std::size_t i = 0; i < sampler.thread_count(); ++i) {
            (void)sampler.take(i);
        }
    };
    if (requests_.take_start(RunEvents::kSamples)) {
        forget(*sampler_);
    }
    if (requests_.take_start(RunEvents::kCycleSamples) && cycle_sampler_) {
        forget(*cycle_sampler_);
    }
    if (requests_.take_start(event_of_mode_)) {
        if (utilisation_) {
            PERFLEET_ASSERT(utilisation_->turn(no_sink_).ok());
        }
        while (log_ && log_->poll(kRecordsPerTick, no_sink_) == kRecordsPerTick) {
        }
    }
}

RowSink& CollectorRun::sink_of_mode() {
    return requests_.is_running(event_of_mode_) ? static_cast<RowSink&>(sink_) : no_sink_;
}

void CollectorRun::take_samples(ThreadSampler& sampler, EventNumber event, Ticks now) {
    if (!requests_.is_running(event)) {
        return;
    }
    for (std::size_t i = 0; i < sampler.thread_count(); ++i) {
        if (const auto sample = sampler.take(i)) {
            ++counts_.samples;
            collector_.sample({.event = event,
                               .time = now,
                               .cpu = 0,
                               .tid = sample->thread.value,
                               .weight = sample->ran_ticks.value_or(1),
                               .addresses = sample->addresses});
        }
    }
}

void CollectorRun::follow_log() {
    if (log_) {
        (void)log_->poll(kRecordsPerTick, sink_of_mode());
    }
}

// The kernel logs each poll, too, so there is always another record.
void CollectorRun::finish_log() {
    if (!log_) {
        return;
    }
    for (int look = 0; look < kLooksAtTheEnd; ++look) {
        do {
            (void)log_->poll(kRecordsPerTick, sink_of_mode());
            collector_.step(kernel_.now());
        } while (log_->has_more());
    }
    log_->finish(sink_of_mode());
}

void CollectorRun::pass_round_trips() {
    if (machine_.load == nullptr) {
        return;
    }
    const std::span<const RoundTrips> tests = machine_.load->tests_over();
    for (; counts_.round_trips < tests.size(); ++counts_.round_trips) {
        const RoundTrips& test = tests[counts_.round_trips];
        const EventNumber event = test.is_notification ? RunEvents::kNotificationLatency : RunEvents::kCallLatency;
        using enum ColumnId;
        const auto row = row_of<Kind::kLatency>(column<kTestSize>(test.size), column<kGroup>(test.group),
                                                column<kTest>(test.number), column<kValue>(test.took_cycles));
        if (requests_.is_running(event)) {
            sink_.append({{Kind::kLatency, event}, Ticks{test.begun_cycles}, row});
        }
    }
}

void CollectorRun::append_counter(EventNumber event, Ticks now, std::uint32_t pid, std::uint32_t tid,
                                  std::uint64_t value) {
    const std::uint64_t ran_ns = ns_of_ticks(now.value - begun_.value, cycles_per_second_);
    using enum ColumnId;
    const auto row = row_of<Kind::kCounter>(column<kPid>(pid), column<kTid>(tid), column<kValue>(value),
                                            column<kTimeEnabled>(ran_ns), column<kTimeRunning>(ran_ns));
    if (requests_.is_running(event)) {
        sink_.append({{Kind::kCounter, event}, now, row});
    }
}

void CollectorRun::read_counters() {
    for (std::size_t i = 0; i < machine_.counters.count(); ++i) {
        (void)machine_.counters.read(i);
    }
}

void CollectorRun::pass_second(Ticks now) {
    constexpr std::uint32_t kWholeCpu = 0xffff'ffff;
    append_counter(RunEvents::kCollectorTime, now, kPid, kOwnThread, counts_.own_cycles);
    const std::uint64_t uncovered_ns = ns_of_ticks(timer_.coverage().uncovered, timer_.ticks_per_second());
    append_counter(RunEvents::kUncoveredTime, now, kWholeCpu, kWholeCpu, ticks_of_ns(uncovered_ns, cycles_per_second_));
    for (std::size_t i = 0; i < machine_.counters.count(); ++i) {
        append_counter(EventNumber{static_cast<std::uint16_t>(RunEvents::kFirstCounter.value + i)}, now, kWholeCpu,
                       kWholeCpu, machine_.counters.read(i));
    }
    if (utilisation_) {
        PERFLEET_ASSERT(utilisation_->turn(sink_of_mode()).ok());
        ++counts_.windows;
        counts_.windows_unaccounted += utilisation_->unaccounted_cycles() == 0 ? 0 : 1;
    }
}

}  // namespace perfleet::sel4
