#include "target-collector/sel4/root/load.h"

#include "schemas/vocabulary/non_copyable.h"
#include "target-collector/sel4/kernel/cycles.h"

namespace perfleet::sel4 {

LoadCaps load_caps;
LoadTimes load_times;
LatencyTests latency_tests;

namespace {

constexpr std::uint64_t kTurns = 2'000;
constexpr int kRoundsBetweenRests = 60;

[[gnu::always_inline]] inline void turn(std::uint64_t turns) {
    for (std::uint64_t i = 0; i < turns; ++i) {
        asm volatile("nop\n nop\n nop\n nop" ::: "memory");
    }
}

// Adds the time until the end of its scope.
class Timed : NonCopyable {
public:
    explicit Timed(volatile std::uint64_t& into) : into_{into}, begun_{cycles().value} {}
    ~Timed() { into_ = into_ + (cycles().value - begun_); }

private:
    volatile std::uint64_t& into_;
    std::uint64_t begun_;
};

// These threads have no IPC buffer: messages are in registers only.
void wait_for(seL4_CPtr notification) {
    seL4_Word badge = 0;
#ifdef CONFIG_KERNEL_MCS
    (void)seL4_WaitWithMRs(notification, &badge, nullptr, nullptr, nullptr, nullptr);
#else
    (void)seL4_RecvWithMRs(notification, &badge, nullptr, nullptr, nullptr, nullptr);
#endif
}

void call() {
    (void)seL4_CallWithMRs(load_caps.endpoint, seL4_MessageInfo_new(0, 0, 0, 0), nullptr, nullptr, nullptr, nullptr);
}

void call_circle(std::uint64_t size) {
    for (std::uint64_t i = 0; i < size; ++i) {
        call();
    }
}

void notification_circle(std::uint64_t size) {
    for (std::uint64_t i = 0; i < size; ++i) {
        seL4_Signal(load_caps.there);
        wait_for(load_caps.back);
    }
}

void run_test(bool is_notification, std::uint32_t group, std::uint32_t number) {
    const std::uint64_t size = latency_tests.shape.size_of_group(group);
    const std::uint64_t begun = cycles().value;
    if (is_notification) {
        notification_circle(size);
    } else {
        call_circle(size);
    }
    const std::uint64_t took = cycles().value - begun;
    latency_tests.tests[latency_tests.count] = {is_notification, group, number, size, begun, took};
    latency_tests.count = latency_tests.count + 1;
}

}  // namespace

void RootLoad::drive(std::uint64_t tick) {
    constexpr std::uint64_t kTicksBetweenRests = 25;
    constexpr std::uint64_t kTicksBetweenTests = 20;
    constexpr std::uint64_t kTicksBetweenApart = 50;
    if (tick % kTicksBetweenRests == 0) {
        seL4_Signal(load_caps.rest);
    }
    if (tick % kTicksBetweenTests == 0) {
        seL4_Signal(load_caps.begin);
    }
    if (tick % kTicksBetweenApart == 0) {
        seL4_Signal(load_caps.apart);
    }
}

extern "C" {

// Aligned, because QEMU runs a loop that lies on two pages more slowly.
[[gnu::noinline, gnu::noclone, gnu::aligned(64)]] void heavy() { turn(14 * kTurns); }
[[gnu::noinline, gnu::noclone, gnu::aligned(64)]] void medium() { turn(4 * kTurns); }
[[gnu::noinline, gnu::noclone, gnu::aligned(64)]] void light() { turn(2 * kTurns); }

void busy_thread() {
    for (;;) {
        for (int i = 0; i < kRoundsBetweenRests; ++i) {
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
        }
        wait_for(load_caps.rest);
    }
}

void client_thread() {
    for (const bool is_notification : {false, true}) {
        for (std::uint32_t group = 1; group <= latency_tests.shape.group_count; ++group) {
            for (std::uint32_t number = 1; number <= latency_tests.shape.test_count; ++number) {
                wait_for(load_caps.begin);
                run_test(is_notification, group, number);
            }
        }
    }
    for (;;) {
        wait_for(load_caps.begin);
        call_circle(latency_tests.shape.initial_size);
    }
}

void server_thread() {
    const seL4_MessageInfo_t nothing = seL4_MessageInfo_new(0, 0, 0, 0);
    seL4_Word badge = 0;
#ifdef CONFIG_KERNEL_MCS
    (void)seL4_RecvWithMRs(load_caps.endpoint, &badge, load_caps.reply, nullptr, nullptr, nullptr, nullptr);
    for (;;) {
        (void)seL4_ReplyRecvWithMRs(load_caps.endpoint, nothing, &badge, nullptr, nullptr, nullptr, nullptr,
                                    load_caps.reply);
    }
#else
    (void)seL4_RecvWithMRs(load_caps.endpoint, &badge, nullptr, nullptr, nullptr, nullptr);
    for (;;) {
        (void)seL4_ReplyRecvWithMRs(load_caps.endpoint, nothing, &badge, nullptr, nullptr, nullptr, nullptr);
    }
#endif
}

[[gnu::noinline, gnu::noclone]] void apart_inner() { turn(60 * kTurns); }
[[gnu::noinline, gnu::noclone]] void apart_middle() {
    apart_inner();
    asm volatile("" ::: "memory");  // it returns here
}
[[gnu::noinline, gnu::noclone]] void apart_outer() {
    constexpr int kTimes = 4;
    for (int i = 0; i < kTimes; ++i) {
        apart_middle();
    }
    asm volatile("" ::: "memory");
}

void apart_thread() {
    for (;;) {
        wait_for(load_caps.apart);
        apart_outer();
    }
}

void echo_thread() {
    for (;;) {
        wait_for(load_caps.there);
        seL4_Signal(load_caps.back);
    }
}

}  // extern "C"

}  // namespace perfleet::sel4
