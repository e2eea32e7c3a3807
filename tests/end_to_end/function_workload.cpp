// function_workload [wait]: calls functions in each way that a call can begin and end, and prints how often. With
// `wait` it begins at SIGUSR1. function_workload push|leaf|thrower N: calls one of them N times, and prints the CPU
// time of a call.
#include <cinttypes>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

// Its first instruction is one that the kernel needn't step over.
extern "C" int begins_with_push(int value);
#if defined(__x86_64__)
asm(R"(
    .text
    .globl begins_with_push
    .type begins_with_push, @function
begins_with_push:
    push %rbx
    lea 1(%rdi), %eax
    pop %rbx
    ret
    .size begins_with_push, . - begins_with_push
)");
#else
extern "C" [[gnu::noinline]] int begins_with_push(int value) { return value + 1; }
#endif

namespace {

volatile std::sig_atomic_t has_signal = 0;
std::jmp_buf way_out;
int sum = 0;

}  // namespace

namespace work {

[[gnu::noinline]] int recurse(int depth) { return depth == 0 ? 1 : recurse(depth - 1) + (sum = depth); }

[[gnu::noinline]] int thrower(int value) {
    if (value % 3 == 0) {
        throw std::runtime_error("a multiple of three");
    }
    return value;
}

// Exceptions pass through it.
[[gnu::noinline]] int passes(int value) {
    const std::vector<int> destroyed(static_cast<std::size_t>(value % 5) + 1);
    return thrower(value) + destroyed[0];
}

[[gnu::noinline]] void jumper(int value) {
    if (value % 2 == 0) {
        std::longjmp(way_out, 1);
    }
    sum = value;
}

[[gnu::noinline]] int last_called(int value) {
    sum = value;
    return recurse(0) + value;
}

[[gnu::noinline]] int ends_with_a_call(int value) {
    sum = value + 1;
    return last_called(value);
}

[[gnu::noinline]] int cases(int value) {
    switch (value) {
        case 0: return recurse(1);
        case 1: return last_called(7) + 1;
        case 2: return sum;
        case 3: return sum = 3;
        case 4: return recurse(2) + 1;
        case 5: return last_called(8);
        default: return value * sum;
    }
}

[[gnu::noinline]] int waits() {
    std::signal(SIGUSR1, [](int) { has_signal = 1; });
    sigset_t blocked{};
    sigset_t none{};
    sigaddset(&blocked, SIGUSR1);
    sigprocmask(SIG_BLOCK, &blocked, &none);
    std::puts("waits");
    std::fflush(stdout);
    while (has_signal == 0) {
        sigsuspend(&none);
    }
    return sum = 1;
}

[[gnu::noinline]] int same(int value) { return sum = value; }
[[gnu::noinline]] int same(long value) { return sum = static_cast<int>(value) + 1; }

}  // namespace work

namespace {

int loop(int (*function)(int), std::uint64_t count) {
    const auto now_ns = [] {
        timespec time{};
        ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
    };
    const double start_ns = now_ns();
    for (std::uint64_t i = 0; i < count; ++i) {
        function(1);
    }
    const double took_ns = now_ns() - start_ns;
    std::printf("ns_per_call=%.1f\n", took_ns / static_cast<double>(count));
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 3) {
        const std::string_view name{argv[1]};
        return loop(name == "push"   ? begins_with_push
                    : name == "leaf" ? static_cast<int (*)(int)>(work::same)
                                     : work::thrower,
                    std::strtoull(argv[2], nullptr, 10));
    }
    if (argc == 2 && std::string_view{argv[1]} == "wait") {
        work::waits();
    }
    constexpr int kThreads = 3;
    constexpr int kRounds = 60;
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back([] {
            for (int round = 0; round < kRounds; ++round) {
                work::recurse(round % 10);
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    std::uint64_t recursive = std::uint64_t{kThreads} * kRounds / 10 * 55;
    int caught = 0;
    for (int i = 0; i < kRounds; ++i) {
        try {
            work::passes(i);
        } catch (const std::runtime_error&) {
            ++caught;
        }
        if (setjmp(way_out) == 0) {
            work::jumper(i);
        }
        work::ends_with_a_call(i);
        work::cases(i % 8);
        work::same(i);
        work::same(static_cast<long>(i));
    }
    // Of ends_with_a_call, and of its cases 0 to 7: 2 + (1) + 0 + 0 + 3 + (1) + 0 + 0.
    for (int i = 0; i < kRounds; ++i) {
        constexpr int kRecursive[] = {2, 1, 0, 0, 3, 1, 0, 0};
        recursive += 1 + static_cast<std::uint64_t>(kRecursive[i % 8]);
    }
    std::printf("recurse=%" PRIu64 " passes=%d caught=%d jumper=%d cases=%d\n", recursive, kRounds, caught, kRounds,
                kRounds);
    return 7;
}
