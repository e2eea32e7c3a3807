// What a run asks of the machine, beside what it asks of the kernel (source/sel4/kernel_interface.h): an alarm, the
// processor's own counters, and the load that it watches. The root task and the Microkit domain answer with the board's
// devices, tests with a simulation, so that the same code runs in all of them.
//
// Freestanding; one thread. All objects are borrowed, and nobody owns one through these classes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace perfleet::sel4 {

// Why the collector was woken; both may be. Who wakes it knows: the run is told.
struct WakeCauses {
    bool is_tick = false;    // the alarm's moment
    bool is_cycles = false;  // CycleInterrupts
};

// A timer that interrupts at one moment of its counter.
class Alarm {
public:
    Alarm() = default;
    Alarm(const Alarm&) = delete;
    Alarm& operator=(const Alarm&) = delete;

    // Of a counter that only grows, and its rate.
    [[nodiscard]] virtual std::uint64_t now() = 0;
    [[nodiscard]] virtual std::uint64_t ticks_per_second() const = 0;
    // At this moment, at once where it is over; the one before is forgotten. To be called after each interrupt, too:
    // the next can't come before.
    virtual void set(std::uint64_t moment) = 0;
    virtual void clear() = 0;

protected:
    ~Alarm() = default;
};

// An interrupt each so many cycles that threads ran, where kernel and processor have such.
class CycleInterrupts {
public:
    CycleInterrupts() = default;
    CycleInterrupts(const CycleInterrupts&) = delete;
    CycleInterrupts& operator=(const CycleInterrupts&) = delete;

    virtual void start() = 0;
    virtual void stop() = 0;
    virtual void set_period(std::uint64_t cycles) = 0;  // from the next one on
    // To be called when one came. True: its period is over, and the next one has begun.
    [[nodiscard]] virtual bool go_on() = 0;

protected:
    ~CycleInterrupts() = default;
};

// What the whole core did.
class EventCounters {
public:
    static constexpr std::size_t kEventsMax = 4;

    EventCounters() = default;
    EventCounters(const EventCounters&) = delete;
    EventCounters& operator=(const EventCounters&) = delete;

    [[nodiscard]] virtual std::size_t count() const = 0;  // at most kEventsMax
    [[nodiscard]] virtual std::string_view name(std::size_t index) const = 0;
    // Since they were started. Counters of 32 bits wrap: to be read before they do, which the run does every few ticks.
    [[nodiscard]] virtual std::uint64_t read(std::size_t index) = 0;

protected:
    ~EventCounters() = default;
};

// N round trips between two threads, summed: accumulated latencies, as Kanata Bench has them.
struct RoundTrips {
    bool is_notification = false;  // or of calls
    std::uint32_t group = 0;       // from 1 on; all of a group have one size
    std::uint32_t number = 0;      // in the group
    std::uint64_t size = 0;        // N
    std::uint64_t begun_cycles = 0;
    std::uint64_t took_cycles = 0;
};

// The threads that are watched.
class WatchedLoad {
public:
    WatchedLoad() = default;
    WatchedLoad(const WatchedLoad&) = delete;
    WatchedLoad& operator=(const WatchedLoad&) = delete;

    // Lets them go on; `tick` counts.
    virtual void drive(std::uint64_t tick) = 0;
    // All tests that are over, in order: it only grows.
    [[nodiscard]] virtual std::span<const RoundTrips> tests_over() const = 0;

protected:
    ~WatchedLoad() = default;
};

struct Machine {
    Alarm& alarm;
    CycleInterrupts* cycles;  // null: there are none
    EventCounters& counters;
    WatchedLoad* load;  // null: nobody has to drive it
};

}  // namespace perfleet::sel4
