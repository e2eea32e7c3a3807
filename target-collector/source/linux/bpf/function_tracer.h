// How long calls of functions take: BPF programs on probes where a function begins and ends (function.bpf.c), of
// programs by uprobes, of the kernel by kprobes. The kernel removes them with this, also after SIGKILL.
//
// A resource. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "target-collector/source/linux/bpf/function_layout.h"

namespace perfleet {

// A jump on this condition, and a return.
[[nodiscard]] constexpr function_branch jump_if(std::uint32_t condition) {
    function_branch branch{};
    branch.condition = condition;
    return branch;
}
[[nodiscard]] constexpr function_branch a_return() {
    function_branch branch = jump_if(FUNCTION_ALWAYS);
    branch.is_return = 1;
    return branch;
}

// An instruction that ends a call, or at which the function begins again.
struct FunctionBranch {
    std::uint64_t file_offset = 0;
    function_branch branch{};
};

struct FunctionPart {
    std::uint64_t file_offset = 0;
    std::uint64_t size_bytes = 0;
};

struct TracedFunction {
    std::string image;                // path of the file; empty: the kernel
    std::string name;                 // for messages; of the kernel: the symbol
    std::vector<FunctionPart> parts;  // of a program; the first begins with its first instruction
    // Empty: calls end where the kernel catches them, of programs by a return address of its own on their stack
    // (uretprobe). It ends a program that throws a C++ exception through such a call, or that switches stacks within
    // it.
    std::vector<FunctionBranch> exits;
    std::vector<FunctionBranch> again;  // jumps to its first instruction: these are no calls
    bool has_goroutines = false;        // it is Go's: its stack moves, and it moves between threads
};

struct FunctionCounts {
    std::uint64_t entered = 0;
    std::uint64_t returned = 0;        // have a time
    std::uint64_t jumped = 0;          // of `returned`: up to a jump to another function (a tail call)
    std::uint64_t abandoned = 0;       // another call began in their place: left without a return
    std::uint64_t open = 0;            // have begun, and may still run, or were left without a return
    std::uint64_t evicted = 0;         // have no time: dropped from the table of open calls, which was full
    std::uint64_t without_memory = 0;  // have no time: refused by the table
    std::uint64_t elsewhere = 0;       // have no time: of Go, but not on a goroutine's stack
    std::uint64_t unmatched = 0;       // ends of calls that had begun before, or were evicted
    std::uint64_t rows_lost = 0;       // of `returned`: nobody took them in time
    std::uint64_t sum_ns = 0;
    std::array<std::uint64_t, FUNCTION_BUCKETS> buckets{};  // of durations: 2^k to 2^(k+1) − 1 ns, the first 0 and 1
};

struct FunctionCall {
    std::uint64_t end_ns = 0;  // CLOCK_MONOTONIC
    std::uint64_t duration_ns = 0;
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    std::uint32_t cpu = 0;
    std::uint32_t function = 0;  // index
};

class FunctionTracer {
public:
    struct Options {
        std::vector<std::uint32_t> pids;  // processes, with all their threads; empty: all of the machine
        // What these processes start, too: the probes then stand in the whole machine, and cost others their hits.
        bool follows_children = false;
        bool has_rows = true;       // each call is passed to drain(), too
        std::uint32_t own_pid = 0;  // never followed; 0: nobody
        std::uint32_t open_calls_max = FUNCTION_OPEN_CALLS_MAX;
    };
    // Probes stand, but count nothing yet. Errors: kPermission, kUnsupported (no uprobes or kprobes in this kernel,
    // among others), kTooLarge (limits of function_layout.h), kNotFound (process, or function of the kernel), kInvalid
    // (the kernel refuses a probe there).
    [[nodiscard]] static Result<std::unique_ptr<FunctionTracer>> open(std::span<const TracedFunction> functions,
                                                                      const Options& options);

    virtual ~FunctionTracer() = default;

    virtual void enable(bool is_enabled) = 0;

    // Readable when much waits to be drained.
    [[nodiscard]] virtual int wake_fd() const = 0;
    // Passes on the calls that wait, in the order in which they ended on each processor.
    virtual void drain(const std::function<void(const FunctionCall&)>& take) = 0;

    // Of each function, since enable(). `evicted` is exact when nothing is counted any more.
    [[nodiscard]] virtual std::vector<FunctionCounts> counts() const = 0;
    // Processes that the followed ones have started and that aren't followed.
    [[nodiscard]] virtual std::uint64_t forked_count() const = 0;
    // Followed processes that went on without their first thread: their later calls aren't seen. 0 with
    // `follows_children`, which sees them.
    [[nodiscard]] virtual std::uint64_t unprobed_count() const = 0;
};

}  // namespace perfleet
