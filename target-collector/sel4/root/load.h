// Threads to be watched: one that burns time in functions of known shares and rests in between, and a client with two
// servers, of calls and of notifications; and one that is to run in an address space of its own, in a chain of known
// callers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "target-collector/sel4/kernel/libsel4.h"
#include "target-collector/sel4/run/machine.h"
#include "target-collector/sel4/run/run_words.h"

namespace perfleet::sel4 {

// What they talk through.
struct LoadCaps {
    seL4_CPtr rest = seL4_CapNull;   // a notification: signalled when the busy thread is to go on
    seL4_CPtr begin = seL4_CapNull;  // … when the client is to run a test
    seL4_CPtr there = seL4_CapNull;  // notifications from client to the echo and back
    seL4_CPtr back = seL4_CapNull;
    seL4_CPtr endpoint = seL4_CapNull;
    seL4_CPtr apart = seL4_CapNull;  // a notification: the thread in the other address space is to go on
    seL4_CPtr reply = seL4_CapNull;  // MCS
};
extern LoadCaps load_caps;

// Cycles that functions of the busy thread took, when it wasn't interrupted for long.
struct LoadTimes {
    volatile std::uint64_t heavy = 0;
    volatile std::uint64_t medium = 0;
    volatile std::uint64_t light = 0;
};
extern LoadTimes load_times;

// Accumulated latencies, as Kanata Bench has them: no clock is read within a circle, the sum of N round trips is what a
// test observes. All tests of calls, then all of notifications; after them the client goes round for nothing.
struct LatencyTests {
    CircleShape shape;  // set before the threads start
    RoundTrips tests[2 * kCircleTestsMax];
    volatile std::size_t count = 0;  // set by the client, after the test
};
extern LatencyTests latency_tests;

// Wakes the threads of the load, and says what their tests took.
class RootLoad final : public WatchedLoad {
public:
    void drive(std::uint64_t tick) override;
    [[nodiscard]] std::span<const RoundTrips> tests_over() const override {
        return {latency_tests.tests, latency_tests.count};
    }
};

// Entries of the threads.
extern "C" {
[[noreturn]] void busy_thread();
[[noreturn]] void client_thread();
[[noreturn]] void server_thread();
[[noreturn]] void echo_thread();
[[noreturn]] void apart_thread();
}

}  // namespace perfleet::sel4
