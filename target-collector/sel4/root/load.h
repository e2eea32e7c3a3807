// Threads to be watched: one that burns time in functions of known shares and rests in between; a client with two
// servers, one for calls and one for notifications; and one for an address space of its own, in a chain of known
// callers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "target-collector/sel4/kernel/libsel4.h"
#include "target-collector/sel4/run/machine.h"
#include "target-collector/sel4/run/run_words.h"

namespace perfleet::sel4 {

// The capabilities through which they communicate.
struct LoadCaps {
    seL4_CPtr rest = seL4_CapNull;   // a notification: the busy thread is to continue
    seL4_CPtr begin = seL4_CapNull;  // … the client is to run a test
    seL4_CPtr there = seL4_CapNull;  // notifications from the client to the echo and back
    seL4_CPtr back = seL4_CapNull;
    seL4_CPtr endpoint = seL4_CapNull;
    seL4_CPtr apart = seL4_CapNull;  // a notification: the thread in the other address space is to continue
    seL4_CPtr reply = seL4_CapNull;  // MCS
};
extern LoadCaps load_caps;

// Cycles of the busy thread's functions, without long interruptions.
struct LoadTimes {
    volatile std::uint64_t heavy = 0;
    volatile std::uint64_t medium = 0;
    volatile std::uint64_t light = 0;
};
extern LoadTimes load_times;

// Accumulated latencies, as in Kanata Bench: no clock is read inside a test, which measures the sum of N round trips.
// All tests of calls come first, then all of notifications; after them the client repeats round trips without
// measuring.
struct LatencyTests {
    CircleShape shape;  // set before the threads start
    RoundTrips tests[2 * kCircleTestsMax];
    volatile std::size_t count = 0;  // set by the client, after the test
};
extern LatencyTests latency_tests;

// Wakes the threads of the load, and reports the results of their tests.
class RootLoad final : public WatchedLoad {
public:
    void drive(std::uint64_t tick) override;
    [[nodiscard]] std::span<const RoundTrips> tests_over() const override {
        return {latency_tests.tests, latency_tests.count};
    }
};

// Entry points of the threads.
extern "C" {
[[noreturn]] void busy_thread();
[[noreturn]] void client_thread();
[[noreturn]] void server_thread();
[[noreturn]] void echo_thread();
[[noreturn]] void apart_thread();
}

}  // namespace perfleet::sel4
