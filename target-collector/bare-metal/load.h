// The measured load: two threads at EL0. One calls three functions that take about 70, 20 and 10 % of its time, the
// other calls through three levels. Each sums the real times of its functions by the generic counter.
#pragma once

#include <cstdint>

#include "target-collector/small/circle_shape.h"

namespace perfleet::bare_metal {

// In ticks of the generic counter, including callees. Written at EL0.
struct LoadTimes {
    volatile std::uint64_t heavy = 0;
    volatile std::uint64_t medium = 0;
    volatile std::uint64_t light = 0;
    volatile std::uint64_t outer = 0;
    volatile std::uint64_t middle = 0;
    volatile std::uint64_t inner = 0;
};
extern LoadTimes load_times;

// Loop turns in a unit of work: heavy does 14 units, medium 4, light 2. Set before the load runs.
extern volatile std::uint64_t load_turns;

// Rounds of a thread before it yields; set before the load runs. If QEMU's time is the host's, a pending counter
// overflow is raised at kernel entry and taken at kernel exit, by the thread that runs then. So the last function's
// samples of a thread that yields often fall into the next thread.
inline constexpr std::uint64_t kRounds = 8;
extern volatile std::uint64_t load_rounds;

// Number of timed functions.
inline constexpr std::uint64_t kTimedFunctions = 6;  // heavy, medium, light, outer, middle, inner

// Durations of functions, from START to STOP. Written at EL0; the kernel takes the entries at each interrupt and
// updates `taken`.
struct Trace {
    struct Entry {
        std::uint64_t function;
        std::uint64_t stop_ticks;
        std::uint64_t took_ticks;
    };
    static constexpr std::uint64_t kEntriesMax = 64;

    volatile std::uint64_t is_on = 0;
    volatile std::uint64_t written = 0;
    volatile std::uint64_t taken = 0;
    volatile std::uint64_t lost = 0;  // dropped because all entries were in use
    Entry entries[kEntriesMax] = {};
};
extern Trace trace;

// A thread's requests to the kernel, by call number.
enum class Call : std::uint64_t {
    kYield = 0,   // switch to the other thread
    kReport = 1,  // circle_test has a result
    kEnd = 2,     // end of the load
};

// The Kanata circle: one thread signals the other, which signals back, `size` times.
struct CircleTest {
    volatile std::uint64_t size = 0;
    volatile std::uint64_t group = 0;  // group of tests of one size, from 1
    volatile std::uint64_t test = 0;   // within the group, from 1
    volatile std::uint64_t took_cycles = 0;
};
extern CircleTest circle_test;
extern volatile CircleShape circle_shape;

extern "C" [[noreturn]] void circle_thread();
extern "C" [[noreturn]] void echo_thread();
extern "C" [[noreturn]] void shares_thread();
extern "C" [[noreturn]] void nested_thread();

}  // namespace perfleet::bare_metal
