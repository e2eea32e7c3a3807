// Functions of this program, which counts its calls itself.
#include "target-collector/source/linux/bpf/function_tracer.h"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <csetjmp>
#include <csignal>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "target-collector/process/proc_reader.h"

extern "C" {
// Each ends in an instruction that has a name. The one of two cases jumps through a register: into itself, or to
// another function.
int traced_plain(int value);
extern const char traced_plain_exit[];
int traced_cases(int value);
extern const char traced_cases_jump[];
extern const char traced_cases_exit[];
extern const char traced_cases_end[];
int traced_flags(int value);
extern const char traced_flags_equal[];
extern const char traced_flags_less[];
extern const char traced_flags_again[];
extern const char traced_flags_exit[];
}
#if defined(__x86_64__)
asm(R"(
    .text
traced_plain:
    lea 1(%rdi), %eax
traced_plain_exit:
    ret
traced_cases:
    lea traced_plain(%rip), %rax
    lea 1f(%rip), %rdx
    test %edi, %edi
    cmovne %rdx, %rax
traced_cases_jump:
    jmp *%rax
1:  mov $7, %eax
traced_cases_exit:
    ret
traced_cases_end:
traced_flags:
    test %edi, %edi
traced_flags_equal:
    je traced_plain
traced_flags_less:
    jl traced_plain
    dec %edi
    mov $1, %eax
    test %edi, %edi
traced_flags_again:
    jg traced_flags
traced_flags_exit:
    ret
)");
#endif

namespace perfleet {
namespace {

std::atomic<std::uint64_t> recursive_calls{0};

[[gnu::noinline]] int traced_recursive(int depth) {
    ++recursive_calls;
    return depth == 0 ? 0 : traced_recursive(depth - 1) + 1;
}

std::jmp_buf way_out;
bool way_out_is_set = true;

[[gnu::noinline]] void traced_jumper(int depth) {
    if (depth == 0 && way_out_is_set) {
        std::longjmp(way_out, 1);
    }
    if (depth > 0) {
        traced_jumper(depth - 1);
    }
}

[[gnu::noinline]] int traced_catcher() {
    if (setjmp(way_out) == 0) {
        traced_jumper(2);
    }
    return 1;
}

// Its innermost call jumps to the one at depth 3.
[[gnu::noinline]] int traced_recursive_jumper(int depth) {
    if (depth == 0) {
        std::longjmp(way_out, 1);
    }
    if (depth == 3 && setjmp(way_out) != 0) {
        return 1;
    }
    return traced_recursive_jumper(depth - 1) + 1;
}

std::uint64_t file_offset_of(const void* code) {
    const auto address = reinterpret_cast<std::uint64_t>(code);
    for (const ProcMapping& mapping : proc_mappings(static_cast<std::uint32_t>(::getpid()))) {
        if (address >= mapping.start && address < mapping.end) {
            return address - mapping.start + mapping.file_offset;
        }
    }
    return 0;
}

TracedFunction function_at(const void* code) {
    TracedFunction function;
    function.image = "/proc/self/exe";
    function.name = "f";
    function.parts = {{file_offset_of(code), 1}};
    return function;
}

FunctionBranch return_at(const void* code) { return {file_offset_of(code), a_return()}; }

struct Traced {
    std::vector<FunctionCounts> counts;
    std::vector<FunctionCall> calls;
};

// Empty if no user of this machine may do so.
template <class Work>
std::optional<Traced> trace(const std::vector<TracedFunction>& functions, Work work) {
    auto tracer = FunctionTracer::open(functions, {{static_cast<std::uint32_t>(::getpid())}});
    if (!tracer.ok()) {
        EXPECT_TRUE(tracer.error().code == ErrorCode::kPermission || tracer.error().code == ErrorCode::kUnsupported)
            << tracer.error().message;
        return std::nullopt;
    }
    (*tracer)->enable(true);
    work();
    (*tracer)->enable(false);
    Traced traced;
    (*tracer)->drain([&](const FunctionCall& call) { traced.calls.push_back(call); });
    traced.counts = (*tracer)->counts();
    return traced;
}

#define TRACE(traced, ...)                            \
    const auto traced##_or_none = trace(__VA_ARGS__); \
    if (!traced##_or_none) {                          \
        GTEST_SKIP() << "no BPF, or no uprobes";      \
    }                                                 \
    const Traced& traced = *traced##_or_none

// Of the calling thread.
void keep_capabilities(std::uint64_t effective) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
    ASSERT_EQ(::syscall(SYS_capget, &header, sets.data()), 0);
    for (std::size_t i = 0; i < sets.size(); ++i) {
        sets[i].effective &= static_cast<std::uint32_t>(effective >> (32 * i));
    }
    ASSERT_EQ(::syscall(SYS_capset, &header, sets.data()), 0);
}

// What a thread with these capabilities alone is refused; empty: nothing.
std::string refused_with(std::uint64_t capabilities) {
    std::string refused;
    std::thread{[&] {
        keep_capabilities(capabilities);
        const std::vector functions{function_at(reinterpret_cast<const void*>(&traced_recursive))};
        const auto tracer = FunctionTracer::open(functions, {.pids = {static_cast<std::uint32_t>(::getpid())}});
        refused = tracer.ok() ? "" : tracer.error().message;
    }}.join();
    return refused;
}

TEST(FunctionTracer, NamesTheCapabilitiesThatItNeeds) {
    constexpr std::uint64_t kBpfAndPerfmon = 1ULL << CAP_BPF | 1ULL << CAP_PERFMON;
    if (!refused_with(~0ULL).empty()) {
        GTEST_SKIP() << "no BPF, or no uprobes";
    }
    const std::string needed =
        "it needs root (sudo), or CAP_BPF, CAP_PERFMON and, for functions of programs, CAP_SYS_ADMIN";
    EXPECT_NE(refused_with(0).find(needed), std::string::npos) << refused_with(0);
    // Kernels before 6.16 let CAP_PERFMON set uprobes.
    const std::string refused = refused_with(kBpfAndPerfmon);
    EXPECT_TRUE(refused.empty() || refused.find(needed) != std::string::npos) << refused;
    EXPECT_EQ(refused_with(kBpfAndPerfmon | 1ULL << CAP_SYS_ADMIN), "");
}

TEST(FunctionTracer, CountsRecursiveCallsOfThreadsAsTheyDoThemselves) {
    recursive_calls = 0;
    TRACE(traced, {function_at(reinterpret_cast<const void*>(&traced_recursive))}, [] {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([] {
                for (int round = 0; round < 100; ++round) {
                    traced_recursive(round % 8);
                }
            });
        }
    });
    const FunctionCounts& counts = traced.counts[0];
    EXPECT_EQ(counts.entered, recursive_calls);
    EXPECT_EQ(counts.returned, recursive_calls);
    EXPECT_EQ(counts.abandoned + counts.open + counts.evicted + counts.unmatched + counts.rows_lost, 0U);
    // The histogram and the rows agree.
    std::map<std::size_t, std::uint64_t> buckets;
    std::map<std::uint32_t, std::uint64_t> of_threads;
    std::uint64_t sum_ns = 0;
    for (const FunctionCall& call : traced.calls) {
        ++buckets[call.duration_ns < 2 ? 0 : static_cast<std::size_t>(std::bit_width(call.duration_ns)) - 1];
        ++of_threads[call.tid];
        sum_ns += call.duration_ns;
        EXPECT_EQ(call.pid, static_cast<std::uint32_t>(::getpid()));
    }
    for (std::size_t bucket = 0; bucket < counts.buckets.size(); ++bucket) {
        EXPECT_EQ(counts.buckets[bucket], buckets[bucket]) << bucket;
    }
    EXPECT_EQ(sum_ns, counts.sum_ns);
    ASSERT_EQ(of_threads.size(), 4U);
    for (const auto& [tid, count] : of_threads) {
        EXPECT_EQ(count, recursive_calls / 4);
    }
}

TEST(FunctionTracer, ACallIsNoLongerThanTheOneAroundIt) {
    TRACE(traced, {function_at(reinterpret_cast<const void*>(&traced_recursive))}, [] { traced_recursive(20); });
    ASSERT_EQ(traced.calls.size(), 21U);
    for (std::size_t i = 1; i < traced.calls.size(); ++i) {
        EXPECT_GE(traced.calls[i].duration_ns, traced.calls[i - 1].duration_ns);
        EXPECT_GE(traced.calls[i].end_ns, traced.calls[i - 1].end_ns);
    }
}

TEST(FunctionTracer, CallsBeyondWhatTheKernelFollowsHaveNoTime) {
    constexpr std::uint64_t kFollowedByKernel = 64;  // MAX_URETPROBE_DEPTH
    recursive_calls = 0;
    TRACE(traced, {function_at(reinterpret_cast<const void*>(&traced_recursive))}, [] { traced_recursive(199); });
    EXPECT_EQ(traced.counts[0].entered, 200U);
    EXPECT_EQ(traced.counts[0].returned, kFollowedByKernel);
    EXPECT_EQ(traced.counts[0].open, 200U - kFollowedByKernel);
    EXPECT_EQ(traced.counts[0].evicted, 0U);
}

TEST(FunctionTracer, CallsLeftByLongjmpHaveNoTimeAndTheOneAroundThemHasIts) {
    constexpr int kRounds = 100;
    TRACE(traced,
          {function_at(reinterpret_cast<const void*>(&traced_catcher)),
           function_at(reinterpret_cast<const void*>(&traced_jumper))},
          [] {
              for (int i = 0; i < kRounds; ++i) {
                  traced_catcher();
              }
          });
    EXPECT_EQ(traced.counts[0].entered, std::uint64_t{kRounds});
    EXPECT_EQ(traced.counts[0].returned, std::uint64_t{kRounds});
    EXPECT_EQ(traced.counts[1].entered, std::uint64_t{3} * kRounds);
    EXPECT_EQ(traced.counts[1].returned, 0U);
    EXPECT_EQ(traced.counts[1].abandoned + traced.counts[1].open, std::uint64_t{3} * kRounds);
    EXPECT_GT(traced.counts[1].abandoned, traced.counts[1].open) << "each begins where another was left";
}

TEST(FunctionTracer, AReturnEndsTheCallOfItsDepth) {
    TRACE(traced, {function_at(reinterpret_cast<const void*>(&traced_recursive_jumper))},
          [] { traced_recursive_jumper(5); });
    EXPECT_EQ(traced.counts[0].entered, 6U);
    EXPECT_EQ(traced.counts[0].returned, 3U) << "depths 3, 4 and 5";
    EXPECT_EQ(traced.counts[0].abandoned + traced.counts[0].open, 3U);
}

#if defined(__x86_64__)
TEST(FunctionTracer, CallsEndAtTheirLastInstruction) {
    TracedFunction plain = function_at(reinterpret_cast<const void*>(&traced_plain));
    plain.exits = {return_at(traced_plain_exit)};
    TracedFunction cases = function_at(reinterpret_cast<const void*>(&traced_cases));
    cases.parts[0].size_bytes =
        static_cast<std::uint64_t>(traced_cases_end - reinterpret_cast<const char*>(&traced_cases));
    function_branch by_rax = jump_if(FUNCTION_ALWAYS);
    by_rax.is_computed = 1;
    by_rax.base = 0;
    by_rax.index = FUNCTION_NO_REGISTER;
    cases.exits = {{file_offset_of(traced_cases_jump), by_rax}, return_at(traced_cases_exit)};
    TRACE(traced, {plain, cases}, [] {
        for (int i = 0; i < 100; ++i) {
            traced_plain(i);
            traced_cases(i % 4);  // one in four goes on in the other function
        }
    });
    EXPECT_EQ(traced.counts[0].entered, 125U);
    EXPECT_EQ(traced.counts[0].returned, 125U);
    EXPECT_EQ(traced.counts[1].entered, 100U);
    EXPECT_EQ(traced.counts[1].returned, 100U);
    EXPECT_EQ(traced.counts[0].unmatched + traced.counts[1].unmatched, 0U);
    EXPECT_EQ(traced.counts[0].jumped, 0U);
    EXPECT_EQ(traced.counts[1].jumped, 25U);
    EXPECT_EQ(traced.calls.size(), 225U);
}

// Each of two jumps by the flags leaves, or doesn't, and the first instruction comes again, or doesn't.
TEST(FunctionTracer, JumpsByTheFlagsEndACallWhereTheyAreTaken) {
    TracedFunction flags = function_at(reinterpret_cast<const void*>(&traced_flags));
    const auto at = [](const char* code, std::uint32_t condition) {
        return FunctionBranch{file_offset_of(code), jump_if(condition)};
    };
    constexpr std::uint32_t kEqual = 4;
    constexpr std::uint32_t kLess = 12;
    constexpr std::uint32_t kGreater = 15;
    flags.exits = {at(traced_flags_equal, kEqual), at(traced_flags_less, kLess), return_at(traced_flags_exit)};
    flags.again = {at(traced_flags_again, kGreater)};
    TRACE(traced, {flags}, [] {
        for (int i = 0; i < 100; ++i) {
            traced_flags(i % 4 - 1);  // -1 is less, 0 equal, 1 and 2 come to 0 by one and two steps
        }
    });
    EXPECT_EQ(traced.counts[0].entered, 100U);
    EXPECT_EQ(traced.counts[0].returned, 100U);
    EXPECT_EQ(traced.counts[0].jumped, 50U);
    EXPECT_EQ(traced.counts[0].unmatched, 0U);
}

constexpr unsigned char kBreakpoint = 0xcc;

unsigned char first_byte() { return *reinterpret_cast<const volatile unsigned char*>(&traced_plain); }

TEST(FunctionTracer, ProbesGoWithATracerThatIsKilled) {
    const TracedFunction plain = function_at(reinterpret_cast<const void*>(&traced_plain));
    const auto own_pid = static_cast<std::uint32_t>(::getpid());
    TracedFunction seen = plain;
    seen.image = "/proc/" + std::to_string(own_pid) + "/exe";
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t tracing = ::fork();
    if (tracing == 0) {
        const auto tracer = FunctionTracer::open(std::array{seen}, {{own_pid}});
        const char is_open = tracer.ok() ? 1 : 0;
        (void)!::write(ready[1], &is_open, 1);
        ::pause();
    }
    char is_open = 0;
    ASSERT_EQ(::read(ready[0], &is_open, 1), 1);
    const unsigned char probed = first_byte();
    ::kill(tracing, SIGKILL);
    ::waitpid(tracing, nullptr, 0);
    if (is_open == 0) {
        GTEST_SKIP() << "no BPF, or no uprobes";
    }
    EXPECT_EQ(probed, kBreakpoint);
    // The kernel frees programs and their probes in the background.
    while (first_byte() == kBreakpoint) {
        ::usleep(1'000);
    }
    EXPECT_EQ(traced_plain(1), 2);
}
#endif

TEST(FunctionTracer, SaysWhatIsWrong) {
    TracedFunction function;
    function.image = "/no/such/file";
    function.name = "f";
    const auto none = FunctionTracer::open(std::array{function}, {});
    ASSERT_FALSE(none.ok());
    if (none.error().code != ErrorCode::kPermission && none.error().code != ErrorCode::kUnsupported) {
        EXPECT_EQ(none.error().message, "/no/such/file: no such file");
    }
    const std::vector<TracedFunction> many(FUNCTION_COUNT_MAX + 1, function);
    EXPECT_EQ(FunctionTracer::open(many, {}).error().message, "at most 64 functions at once");
    FunctionTracer::Options options;
    options.pids.resize(FUNCTION_TARGETS_MAX + 1);
    EXPECT_EQ(FunctionTracer::open(std::array{function}, options).error().message,
              "at most 64 processes at once; -a follows all of the machine");
}

}  // namespace
}  // namespace perfleet
