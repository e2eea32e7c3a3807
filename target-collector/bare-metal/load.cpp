#include "target-collector/bare-metal/load.h"

#include "target-collector/bare-metal/registers.h"

namespace perfleet::bare_metal {

[[gnu::section(".user")]] LoadTimes load_times;

namespace {

constexpr std::uint64_t kTurns = 20'000;

inline void turn(std::uint64_t turns) {
    for (std::uint64_t i = 0; i < turns; ++i) {
        asm volatile("nop\n nop\n nop\n nop" ::: "memory");
    }
}

// To the other thread.
void yield() { asm volatile("svc #0" ::: "memory"); }

// Adds what passes until the end of its scope.
class Timed {
public:
    explicit Timed(volatile std::uint64_t& into) : into_{into}, begun_{counter()} {}
    Timed(const Timed&) = delete;
    Timed& operator=(const Timed&) = delete;
    ~Timed() { into_ = into_ + (counter() - begun_); }

private:
    volatile std::uint64_t& into_;
    std::uint64_t begun_;
};

}  // namespace

extern "C" {

[[gnu::noinline, gnu::noclone]] void heavy() { turn(14 * kTurns); }
[[gnu::noinline, gnu::noclone]] void medium() { turn(4 * kTurns); }
[[gnu::noinline, gnu::noclone]] void light() { turn(2 * kTurns); }

[[gnu::noinline, gnu::noclone]] void inner() { turn(2 * kTurns); }
[[gnu::noinline, gnu::noclone]] void middle() {
    turn(kTurns);
    const Timed timed{load_times.inner};
    inner();
}
[[gnu::noinline, gnu::noclone]] void outer() {
    turn(kTurns);
    const Timed timed{load_times.middle};
    middle();
}

void shares_thread() {
    for (;;) {
        {
            const Timed timed{load_times.heavy};
            heavy();
        }
        {
            const Timed timed{load_times.medium};
            medium();
        }
        {
            const Timed timed{load_times.light};
            light();
        }
        yield();
    }
}

void nested_thread() {
    for (;;) {
        {
            const Timed timed{load_times.outer};
            outer();
        }
        yield();
    }
}

}  // extern "C"

}  // namespace perfleet::bare_metal
