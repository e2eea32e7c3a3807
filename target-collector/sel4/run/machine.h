// What a run needs from the machine, beside the kernel (source/sel4/kernel_interface.h): an alarm, the processor's own
// counters, and the watched load. The root task and the Microkit domain implement these with the board's devices, tests
// with a simulation, so that the same code runs in all of them.
//
// Freestanding; one thread. All objects are borrowed, and never deleted through these classes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "schemas/vocabulary/non_copyable.h"

namespace perfleet::sel4 {

// Why the collector was woken; both may apply. The caller passes it to the run.
struct WakeCauses {
    bool is_tick = false;    // the alarm's time has come
    bool is_cycles = false;  // CycleInterrupts
};

// A timer that interrupts at a set time of its counter.
class Alarm : NonCopyable {
public:
    // Reads a counter that only grows, and its rate.
    [[nodiscard]] virtual std::uint64_t now() = 0;
    [[nodiscard]] virtual std::uint64_t ticks_per_second() const = 0;
    // Interrupts at this time, at once if it has passed; replaces the time set before. Call it after each interrupt,
    // too: without it there is no other.
    virtual void set(std::uint64_t moment) = 0;
    virtual void clear() = 0;

protected:
    ~Alarm() = default;
};

// An interrupt after each number of cycles that threads ran, if kernel and processor support it.
class CycleInterrupts : NonCopyable {
public:
    virtual void start() = 0;
    virtual void stop() = 0;
    virtual void set_period(std::uint64_t cycles) = 0;  // from the next period on
    // Call it after each interrupt. True: its period is over, and the next one has begun.
    [[nodiscard]] virtual bool go_on() = 0;

protected:
    ~CycleInterrupts() = default;
};

// Event counts of the whole core.
class EventCounters : NonCopyable {
public:
    static constexpr std::size_t kEventsMax = 4;

    [[nodiscard]] virtual std::size_t count() const = 0;  // at most kEventsMax
    [[nodiscard]] virtual std::string_view name(std::size_t index) const = 0;
    // Counts since the start. Counters of 32 bits wrap: they must be read before that, which the run does every few
    // ticks.
    [[nodiscard]] virtual std::uint64_t read(std::size_t index) = 0;

protected:
    ~EventCounters() = default;
};

// N round trips between two threads, summed: accumulated latencies, as in Kanata Bench.
struct RoundTrips {
    bool is_notification = false;  // else calls
    std::uint32_t group = 0;       // from 1 on; all tests of a group have one size
    std::uint32_t number = 0;      // within the group
    std::uint64_t size = 0;        // N
    std::uint64_t begun_cycles = 0;
    std::uint64_t took_cycles = 0;
};

// The threads that are watched.
class WatchedLoad : NonCopyable {
public:
    // Lets the threads continue; `tick` counts up.
    virtual void drive(std::uint64_t tick) = 0;
    // All finished tests, in order: the list only grows.
    [[nodiscard]] virtual std::span<const RoundTrips> tests_over() const = 0;

protected:
    ~WatchedLoad() = default;
};

struct Machine {
    Alarm& alarm;
    CycleInterrupts* cycles;  // null: not supported
    EventCounters& counters;
    WatchedLoad* load;  // null: the load drives itself
};

}  // namespace perfleet::sel4
