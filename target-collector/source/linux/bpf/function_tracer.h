// Measures durations of function calls by BPF programs on probes at a function's start and exits (function.bpf.c):
// uprobes in programs, kprobes in the kernel. The kernel removes them when this ends, also after SIGKILL.
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

// A branch that is a jump on this condition, or a return.
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

// An instruction that ends a call, or restarts the function.
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
    std::string name;                 // for messages; the symbol, for the kernel
    std::vector<FunctionPart> parts;  // of a function in a program; the first part begins with its first instruction
    // Empty: the kernel catches returns; in programs by replacing the return address on the stack (uretprobe). That
    // crashes a program that throws a C++ exception through such a call, or switches stacks within it.
    std::vector<FunctionBranch> exits;
    std::vector<FunctionBranch> again;  // jumps to its first instruction, which aren't calls
    bool has_goroutines = false;        // a Go function: its stack moves, and it changes threads
};

struct FunctionCounts {
    std::uint64_t entered = 0;
    std::uint64_t returned = 0;        // calls with a duration
    std::uint64_t jumped = 0;          // part of `returned`: ended by a jump to another function (a tail call)
    std::uint64_t abandoned = 0;       // ended without a return: another call replaced them
    std::uint64_t open = 0;            // begun, and still running or ended without a return
    std::uint64_t evicted = 0;         // without a duration: dropped from the full table of open calls
    std::uint64_t without_memory = 0;  // without a duration: the table had no memory
    std::uint64_t elsewhere = 0;       // without a duration: Go code, but not on a goroutine's stack
    std::uint64_t unmatched = 0;       // ends of calls that began earlier, or were evicted
    std::uint64_t rows_lost = 0;       // part of `returned`: not drained in time
    std::uint64_t sum_ns = 0;
    std::array<std::uint64_t, FUNCTION_BUCKETS> buckets{};  // bucket k: 2^k to 2^(k+1) − 1 ns; bucket 0 also 0
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
        std::vector<std::uint32_t> pids;  // traced processes, with all threads; empty: the whole machine
        // Also trace their children: probes are then hit, at a cost, in all processes of the machine.
        bool follows_children = false;
        bool has_rows = true;       // also give each call to drain()
        std::uint32_t own_pid = 0;  // never traced; 0: none
        std::uint32_t open_calls_max = FUNCTION_OPEN_CALLS_MAX;
    };
    // Sets the probes without counting yet. Errors: kPermission, kUnsupported (such as no uprobes or kprobes in this
    // kernel), kTooLarge (limits of function_layout.h), kNotFound (process, or function of the kernel), kInvalid (the
    // kernel refuses a probe there).
    [[nodiscard]] static Result<std::unique_ptr<FunctionTracer>> open(std::span<const TracedFunction> functions,
                                                                      const Options& options);

    virtual ~FunctionTracer() = default;

    virtual void enable(bool is_enabled) = 0;

    // Readable when many calls wait to be drained.
    [[nodiscard]] virtual int wake_fd() const = 0;
    // Passes on the waiting calls, by CPU in the order in which they ended.
    virtual void drain(const std::function<void(const FunctionCall&)>& take) = 0;

    // For each function, since enable(). `evicted` is exact after counting has stopped.
    [[nodiscard]] virtual std::vector<FunctionCounts> counts() const = 0;
    // Number of processes that traced ones have started and that aren't traced.
    [[nodiscard]] virtual std::uint64_t forked_count() const = 0;
    // Number of traced processes whose first thread has ended: further calls aren't seen. 0 with `follows_children`,
    // which sees them.
    [[nodiscard]] virtual std::uint64_t unprobed_count() const = 0;
};

}  // namespace perfleet
