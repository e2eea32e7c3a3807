// What is measured: two threads at EL0. One calls three functions that take about 70, 20 and 10 % of its time, the
// other calls through three levels. Each adds up what its functions really took, by the generic counter.
#pragma once

#include <cstdint>

namespace perfleet::bare_metal {

// In ticks of the generic counter, each with what it calls. Written at EL0.
struct LoadTimes {
    volatile std::uint64_t heavy = 0;
    volatile std::uint64_t medium = 0;
    volatile std::uint64_t light = 0;
    volatile std::uint64_t outer = 0;
    volatile std::uint64_t middle = 0;
    volatile std::uint64_t inner = 0;
};
extern LoadTimes load_times;

extern "C" [[noreturn]] void shares_thread();
extern "C" [[noreturn]] void nested_thread();

}  // namespace perfleet::bare_metal
