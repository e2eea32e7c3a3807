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

// An instruction that ends a call.
struct FunctionExit {
    std::uint64_t file_offset = 0;
    bool is_register_jump = false;    // ends it if that leads elsewhere: to another function, and not to another case
    std::uint32_t jump_register = 0;  // as the processor numbers it
};

struct FunctionBody {
    std::uint64_t file_offset = 0;
    std::uint64_t size_bytes = 0;
};

struct TracedFunction {
    std::string image;  // path of the file; empty: the kernel
    std::string name;   // for messages; of the kernel: the symbol
    FunctionBody body;
    FunctionBody cold;  // what the compiler has put elsewhere; may be empty
    // Empty: calls end where the kernel catches them, by a return address of its own on their stack. A C++ exception
    // that passes such a call finds nobody and ends the program.
    std::vector<FunctionExit> exits;
    bool begins_again = false;  // it jumps to its first instruction: that is no call
};

struct FunctionCounts {
    std::uint64_t entered = 0;
    std::uint64_t returned = 0;        // have a time
    std::uint64_t abandoned = 0;       // left without a return (longjmp, an exception), as far as it was seen
    std::uint64_t too_deep = 0;        // beyond FUNCTION_DEPTH_MAX calls in a thread: have no time
    std::uint64_t without_memory = 0;  // have no time either
    std::uint64_t unmatched = 0;       // ends of calls that had begun before
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

    // Of each function, since enable().
    [[nodiscard]] virtual std::vector<FunctionCounts> counts() const = 0;
    // Processes that the followed ones have started and that aren't followed.
    [[nodiscard]] virtual std::uint64_t forked_count() const = 0;
};

}  // namespace perfleet
