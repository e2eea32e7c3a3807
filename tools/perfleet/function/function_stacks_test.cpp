// Calls on stacks other than their thread's own, and calls that are left: counted and timed beside what this program
// counts and times itself. A time is no less than what the function itself measures, and no more than what its caller
// does.
#include <gtest/gtest.h>
#include <setjmp.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "target-collector/process/proc_reader.h"
#include "target-collector/source/linux/bpf/function_tracer.h"
#include "tools/perfleet/function/function_finder.h"

namespace visited {

std::uint64_t now_ns() {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

std::vector<std::uint64_t> inside_ns;  // of visits that return
std::vector<std::uint64_t> outside_ns;

[[gnu::noipa]] void visit(const std::function<void()>& work) {
    const std::uint64_t start_ns = now_ns();
    work();
    inside_ns.push_back(now_ns() - start_ns);
}

void call_visit(const std::function<void()>& work) {
    const std::uint64_t start_ns = now_ns();
    visit(work);
    outside_ns.push_back(now_ns() - start_ns);
}

[[gnu::noipa]] std::uint64_t descend(std::uint64_t depth) {
    const std::uint64_t below = depth == 0 ? 0 : descend(depth - 1);
    asm volatile("" : : "r"(below));  // no loop is made of it
    return below + 1;
}

}  // namespace visited

namespace perfleet {
namespace {

using visited::call_visit;

struct Traced {
    FunctionCounts counts;
    std::vector<FunctionCall> calls;
};

class FunctionStacks : public ::testing::Test {
protected:
    void SetUp() override {
        if (::geteuid() != 0 || ::access("/sys/bus/event_source/devices/uprobe/type", F_OK) != 0) {
            GTEST_SKIP() << "needs root and uprobes";
        }
        visited::inside_ns.clear();
        visited::outside_ns.clear();
    }

    static TracedFunction function(const std::string& name) {
        auto found = find_function({std::filesystem::read_symlink("/proc/self/exe"), "function_test", {}}, name, {});
        EXPECT_TRUE(found.ok()) << found.error().message;
        return found.ok() ? found->traced : TracedFunction{};
    }

    static Traced trace(const TracedFunction& traced, const std::function<void()>& work,
                        std::uint32_t open_calls_max = FUNCTION_OPEN_CALLS_MAX) {
        FunctionTracer::Options options;
        options.pids = {static_cast<std::uint32_t>(::getpid())};
        options.open_calls_max = open_calls_max;
        auto tracer = FunctionTracer::open(std::array{traced}, options);
        if (!tracer.ok()) {
            ADD_FAILURE() << tracer.error().message;
            return {};
        }
        (*tracer)->enable(true);
        work();
        (*tracer)->enable(false);
        Traced result;
        (*tracer)->drain([&](const FunctionCall& call) { result.calls.push_back(call); });
        result.counts = (*tracer)->counts().front();
        return result;
    }

    static Traced trace_visits(const std::function<void()>& work) { return trace(function("visited::visit"), work); }

    // All of those that returned: one by one when both are sorted.
    static void expect_times_as_measured(const Traced& traced) {
        std::vector<std::uint64_t> times;
        for (const FunctionCall& call : traced.calls) {
            times.push_back(call.duration_ns);
        }
        for (auto* const list : {&times, &visited::inside_ns, &visited::outside_ns}) {
            std::sort(list->begin(), list->end());
        }
        ASSERT_EQ(times.size(), visited::inside_ns.size());
        ASSERT_EQ(times.size(), visited::outside_ns.size());
        for (std::size_t i = 0; i < times.size(); ++i) {
            EXPECT_GE(times[i], visited::inside_ns[i]) << i;
            EXPECT_LE(times[i], visited::outside_ns[i]) << i;
        }
    }
};

// A stack of its own that a function runs on, until it is left for good.
class Context {
public:
    explicit Context(std::function<void()> work) : work_{std::move(work)}, stack_(256 << 10) {
        ::getcontext(&here_);
        here_.uc_stack.ss_sp = stack_.data();
        here_.uc_stack.ss_size = stack_.size();
        here_.uc_link = &back_;
        const auto self = reinterpret_cast<std::uintptr_t>(this);
        ::makecontext(&here_, reinterpret_cast<void (*)()>(&Context::run), 2, static_cast<unsigned>(self >> 32U),
                      static_cast<unsigned>(self));
    }
    void enter() { ::swapcontext(&back_, &here_); }
    void leave() { ::swapcontext(&here_, &back_); }

private:
    static void run(unsigned high, unsigned low) {
        reinterpret_cast<Context*>(std::uintptr_t{high} << 32U | low)->work_();
    }

    std::function<void()> work_;
    std::vector<char> stack_;
    ucontext_t here_{};
    ucontext_t back_{};
};

constexpr std::uint64_t kRounds = 200;

// Each visit of one begins before, and ends after, one of the other's begins: none is within another.
TEST_F(FunctionStacks, TwoContextsInTurnsThroughOneFunction) {
    const Traced traced = trace_visits([] {
        std::array<std::unique_ptr<Context>, 2> both;
        for (auto& one : both) {
            one = std::make_unique<Context>([&one] {
                for (std::uint64_t i = 0; i < kRounds; ++i) {
                    call_visit([&one] { one->leave(); });
                }
            });
        }
        for (std::uint64_t i = 0; i <= kRounds; ++i) {
            both[0]->enter();
            both[1]->enter();
        }
    });
    EXPECT_EQ(traced.counts.entered, 2 * kRounds);
    EXPECT_EQ(traced.counts.returned, 2 * kRounds);
    EXPECT_EQ(traced.counts.unmatched + traced.counts.abandoned + traced.counts.open + traced.counts.evicted, 0U);
    expect_times_as_measured(traced);
}

TEST_F(FunctionStacks, ACallThatGoesOnInAnotherThread) {
    constexpr int kContexts = 20;
    const Traced traced = trace_visits([] {
        std::vector<std::unique_ptr<Context>> contexts(kContexts);
        for (auto& one : contexts) {
            one = std::make_unique<Context>([&one] { call_visit([&one] { one->leave(); }); });
            std::thread{[&] { one->enter(); }}.join();
        }
        std::thread{[&] {
            for (auto one = contexts.rbegin(); one != contexts.rend(); ++one) {
                (*one)->enter();
            }
        }}.join();
    });
    EXPECT_EQ(traced.counts.returned, std::uint64_t{kContexts});
    EXPECT_EQ(traced.counts.unmatched, 0U);
    expect_times_as_measured(traced);
}

sigjmp_buf way_out;

void on_signal(int number) {
    call_visit([&] {
        if (number == SIGUSR2) {
            ::siglongjmp(way_out, 1);
        }
    });
}

TEST_F(FunctionStacks, SignalHandlersOnAnotherStackAndOutOfThem) {
    std::vector<char> other(256 << 10);
    stack_t stack{};
    stack_t before{};
    stack.ss_sp = other.data();
    stack.ss_size = other.size();
    ASSERT_EQ(::sigaltstack(&stack, &before), 0);
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_ONSTACK;
    for (const int number : {SIGUSR1, SIGUSR2}) {
        ASSERT_EQ(::sigaction(number, &action, nullptr), 0);
    }
    const Traced traced = trace_visits([] {
        for (std::uint64_t i = 0; i < kRounds; ++i) {
            call_visit([] { ::raise(SIGUSR1); });
            call_visit([] {
                if (sigsetjmp(way_out, 1) == 0) {
                    ::raise(SIGUSR2);
                }
            });
        }
    });
    ::sigaltstack(&before, nullptr);
    EXPECT_EQ(traced.counts.entered, 4 * kRounds);
    EXPECT_EQ(traced.counts.returned, 3 * kRounds);
    EXPECT_EQ(traced.counts.abandoned + traced.counts.open, kRounds) << "one in four is left";
    EXPECT_EQ(traced.counts.unmatched, 0U);
    expect_times_as_measured(traced);
}

TEST_F(FunctionStacks, ExceptionsLeaveCallsThatHaveNoTime) {
    const Traced traced = trace_visits([] {
        for (std::uint64_t i = 0; i < kRounds; ++i) {
            try {
                call_visit([i] {
                    if (i % 4 == 0) {
                        throw std::runtime_error("left");
                    }
                });
            } catch (const std::runtime_error&) {
            }
        }
    });
    EXPECT_EQ(traced.counts.entered, kRounds);
    EXPECT_EQ(traced.counts.returned, kRounds * 3 / 4);
    EXPECT_EQ(traced.counts.abandoned + traced.counts.open, kRounds / 4);
    expect_times_as_measured(traced);
}

TEST_F(FunctionStacks, AChildThatReturnsFromItsParentsCallIsNotCounted) {
    const Traced traced = trace_visits([] {
        bool is_child = false;
        call_visit([&] {
            const pid_t pid = ::fork();
            is_child = pid == 0;
            if (pid > 0) {
                ::waitpid(pid, nullptr, 0);
            }
        });
        if (is_child) {
            ::_exit(0);
        }
    });
    EXPECT_EQ(traced.counts.entered, 1U);
    EXPECT_EQ(traced.counts.returned, 1U);
    EXPECT_EQ(traced.counts.unmatched, 0U);
    expect_times_as_measured(traced);
}

// A process that visits once, begins a second thread, and ends its first one by `end`.
struct EndedThread {
    FunctionCounts counts;
    std::uint64_t unprobed = 0;
};
EndedThread trace_thread_end(const TracedFunction& visit, void (*other)(), void (*end)()) {
    std::array<int, 2> pipe_fds{};
    EXPECT_EQ(::pipe(pipe_fds.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        char byte = 0;
        (void)!::read(pipe_fds[0], &byte, 1);
        visited::visit([] {});
        std::thread{other}.detach();
        end();
        ::_exit(1);
    }
    FunctionTracer::Options options;
    options.pids = {static_cast<std::uint32_t>(child)};
    auto tracer = FunctionTracer::open(std::array{visit}, options);
    EndedThread result;
    if (tracer.ok()) {
        (*tracer)->enable(true);
    }
    (void)!::write(pipe_fds[1], "g", 1);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    if (tracer.ok()) {
        result.counts = (*tracer)->counts().front();
        result.unprobed = (*tracer)->unprobed_count();
    } else {
        ADD_FAILURE() << tracer.error().message;
    }
    for (const int fd : pipe_fds) {
        ::close(fd);
    }
    return result;
}

void wait_for_ever() {
    for (;;) {
        ::pause();
    }
}

void visit_without_the_first_thread() {
    std::string state;
    while (state != "Z") {
        std::ifstream file{"/proc/self/task/" + std::to_string(::getpid()) + "/stat"};
        for (std::string word; word.empty() || word.back() != ')';) {
            file >> word;
        }
        file >> state;
    }
    visited::visit([] {});
    ::_exit(0);
}

TEST_F(FunctionStacks, AProcessThatGoesOnWithoutItsFirstThreadIsNamed) {
    const TracedFunction visit = function("visited::visit");
    const EndedThread alone = trace_thread_end(visit, visit_without_the_first_thread, [] { ::syscall(SYS_exit, 0); });
    EXPECT_EQ(alone.unprobed, 1U);
    EXPECT_EQ(alone.counts.returned, 1U);
    const EndedThread replaced = trace_thread_end(
        visit, [] { ::execl("/bin/true", "true", nullptr); }, wait_for_ever);
    EXPECT_EQ(replaced.unprobed, 1U);
    const EndedThread together = trace_thread_end(visit, wait_for_ever, [] { ::_exit(0); });
    EXPECT_EQ(together.unprobed, 0U);
    const EndedThread by_other = trace_thread_end(
        visit, [] { ::_exit(0); }, wait_for_ever);
    EXPECT_EQ(by_other.unprobed, 0U);
}

// However deep, as long as the table has place: then the outermost calls are those without a time.
TEST_F(FunctionStacks, CallsThatTheTableDropsAreCounted) {
    constexpr std::uint64_t kDepth = 3'000;
    const TracedFunction descend = function("visited::descend");
    const auto go_down = [] { visited::descend(kDepth - 1); };
    const Traced whole = trace(descend, go_down);
    EXPECT_EQ(whole.counts.returned, kDepth);
    EXPECT_EQ(whole.counts.evicted, 0U);
    const Traced full = trace(descend, go_down, 1'024);
    EXPECT_EQ(full.counts.entered, kDepth);
    EXPECT_LE(full.counts.returned, 1'024U);
    EXPECT_GT(full.counts.returned, 0U);
    EXPECT_EQ(full.counts.evicted, kDepth - full.counts.returned);
    EXPECT_EQ(full.counts.unmatched, full.counts.evicted);
}

}  // namespace
}  // namespace perfleet

#if defined(__x86_64__)
extern "C" {
// Runs `work` on a stack that is described as Go does, with the goroutine in r14. The function that is timed begins
// again as often as `goroutine_grows` says. `work` gives the distance to which the stack has been moved.
void enter_goroutine(void* goroutine, std::uint64_t (*work)());
void timed_goroutine();
extern const char timed_goroutine_again[];
extern const char timed_goroutine_exit[];
int goroutine_grows = 0;
}
asm(R"(
    .text
enter_goroutine:
    push %rbx
    push %r14
    mov %rsp, %rbx
    mov %rdi, %r14
    mov 8(%rdi), %rsp
    call timed_goroutine
    mov %rbx, %rsp
    pop %r14
    pop %rbx
    ret
timed_goroutine:
    decl goroutine_grows(%rip)
    js 1f
timed_goroutine_again:
    jmp timed_goroutine
1:  sub $8, %rsp
    call *%rsi
    add %rax, %rsp
    add $8, %rsp
timed_goroutine_exit:
    ret
)");

namespace perfleet {
namespace {

struct Goroutine {
    std::uint64_t low;
    std::uint64_t high;
};
alignas(16) std::array<char, 64 << 10> stacks[2];
Goroutine goroutine{};

void set_stack(std::size_t number) {
    goroutine.low = reinterpret_cast<std::uint64_t>(stacks[number].data());
    goroutine.high = goroutine.low + stacks[number].size();
}

std::uint64_t move_stack() {
    constexpr std::size_t kUsedBytes = 64;
    const Goroutine before = goroutine;
    set_stack(1);
    std::memcpy(reinterpret_cast<char*>(goroutine.high - kUsedBytes),
                reinterpret_cast<const char*>(before.high - kUsedBytes), kUsedBytes);
    return goroutine.high - before.high;
}

std::uint64_t own_offset_of(const void* code) {
    const auto address = reinterpret_cast<std::uint64_t>(code);
    for (const ProcMapping& mapping : proc_mappings(static_cast<std::uint32_t>(::getpid()))) {
        if (address >= mapping.start && address < mapping.end) {
            return address - mapping.start + mapping.file_offset;
        }
    }
    return 0;
}

TEST_F(FunctionStacks, AGoroutinesStackMovesWithinACallAndGrowsBeforeIt) {
    TracedFunction timed;
    timed.image = "/proc/self/exe";
    timed.name = "timed_goroutine";
    timed.parts = {{own_offset_of(reinterpret_cast<const void*>(&timed_goroutine)), 1}};
    timed.exits = {{own_offset_of(timed_goroutine_exit), a_return()}};
    timed.again = {{own_offset_of(timed_goroutine_again), jump_if(FUNCTION_ALWAYS)}};
    timed.has_goroutines = true;
    const Traced traced = trace(timed, [] {
        for (int i = 0; i < 50; ++i) {
            set_stack(0);
            goroutine_grows = i % 3;
            enter_goroutine(&goroutine, move_stack);
        }
        // Not on the stack that it describes.
        set_stack(0);
        Goroutine other{goroutine.high, goroutine.high};
        goroutine_grows = 0;
        enter_goroutine(&other, [] { return std::uint64_t{0}; });
    });
    EXPECT_EQ(traced.counts.entered, 51U);
    EXPECT_EQ(traced.counts.returned, 50U);
    EXPECT_EQ(traced.counts.elsewhere, 1U);
    EXPECT_EQ(traced.counts.unmatched + traced.counts.abandoned + traced.counts.open, 0U);
}

}  // namespace
}  // namespace perfleet
#endif
