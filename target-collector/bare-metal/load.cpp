#include "target-collector/bare-metal/load.h"

#include "schemas/vocabulary/non_copyable.h"
#include "target-collector/bare-metal/registers.h"

namespace perfleet::bare_metal {

[[gnu::section(".user")]] LoadTimes load_times;
[[gnu::section(".user")]] volatile std::uint64_t load_turns;
[[gnu::section(".user")]] volatile std::uint64_t load_rounds;
[[gnu::section(".user")]] CircleTest circle_test;
[[gnu::section(".user")]] volatile CircleShape circle_shape;
[[gnu::section(".user")]] Trace trace;

namespace {

inline void turn(std::uint64_t turns) {
    for (std::uint64_t i = 0; i < turns; ++i) {
        asm volatile("nop\n nop\n nop\n nop" ::: "memory");
    }
}

template <Call kCall>
void call() {
    asm volatile("svc %0" ::"i"(kCall) : "memory");
}
void yield() { call<Call::kYield>(); }

// STOP of a function.
void write_trace(std::uint64_t function, std::uint64_t stop_ticks, std::uint64_t took_ticks) {
    const std::uint64_t written = trace.written;
    if (written - trace.taken >= Trace::kEntriesMax) {
        trace.lost = trace.lost + 1;
        return;
    }
    trace.entries[written % Trace::kEntriesMax] = {function, stop_ticks, took_ticks};
    asm volatile("" ::: "memory");  // an interrupt finds the entry whole
    trace.written = written + 1;
}

// Adds the time until the end of its scope to the function's time, and traces it.
class Timed : NonCopyable {
public:
    Timed(volatile std::uint64_t& into, std::uint64_t function) : into_{into}, function_{function}, begun_{counter()} {}
    ~Timed() {
        const std::uint64_t now = counter();
        into_ = into_ + (now - begun_);
        if (trace.is_on != 0) {
            write_trace(function_, now, now - begun_);
        }
    }

private:
    volatile std::uint64_t& into_;
    std::uint64_t function_;
    std::uint64_t begun_;
};

}  // namespace

extern "C" {

// Aligned, because QEMU runs a loop that lies on two pages more slowly.
[[gnu::noinline, gnu::noclone, gnu::aligned(64)]] void heavy() { turn(14 * load_turns); }
[[gnu::noinline, gnu::noclone, gnu::aligned(64)]] void medium() { turn(4 * load_turns); }
[[gnu::noinline, gnu::noclone, gnu::aligned(64)]] void light() { turn(2 * load_turns); }

[[gnu::noinline, gnu::noclone]] void inner() { turn(2 * load_turns); }
[[gnu::noinline, gnu::noclone]] void middle() {
    turn(load_turns);
    const Timed timed{load_times.inner, 5};
    inner();
}
[[gnu::noinline, gnu::noclone]] void outer() {
    turn(load_turns);
    const Timed timed{load_times.middle, 4};
    middle();
}

void circle_thread() {
    const std::uint64_t test_count = circle_shape.test_count;
    for (std::uint64_t group = 1; group <= circle_shape.group_count; ++group) {
        const std::uint64_t size = circle_shape.initial_size + ((group - 1) * circle_shape.size_delta);
        for (std::uint64_t test = 1; test <= test_count; ++test) {
            const std::uint64_t begun = cycle_counter();
            for (std::uint64_t round = 0; round < size; ++round) {
                yield();
            }
            circle_test.took_cycles = cycle_counter() - begun;
            circle_test.size = size;
            circle_test.group = group;
            circle_test.test = test;
            call<Call::kReport>();
        }
    }
    for (;;) {
        call<Call::kEnd>();
    }
}

void echo_thread() {
    for (;;) {
        yield();
    }
}

void shares_thread() {
    for (;;) {
        for (std::uint64_t round = 0; round < load_rounds; ++round) {
            {
                const Timed timed{load_times.heavy, 0};
                heavy();
            }
            {
                const Timed timed{load_times.medium, 1};
                medium();
            }
            {
                const Timed timed{load_times.light, 2};
                light();
            }
        }
        yield();
    }
}

void nested_thread() {
    for (;;) {
        for (std::uint64_t round = 0; round < load_rounds; ++round) {
            const Timed timed{load_times.outer, 3};
            outer();
        }
        yield();
    }
}

}  // extern "C"

}  // namespace perfleet::bare_metal
