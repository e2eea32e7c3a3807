// How long threads are off the CPU, by stack: BPF programs on the scheduler's tracepoints (off_cpu.bpf.c), which unwind
// by what a KernelUnwinder knows.
//
// A resource. One thread. What it shows of a thread goes to the outputs of the CPU that the thread came back to.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "schemas/vocabulary/error.h"
#include "target-collector/source/linux/bpf/kernel_unwinder.h"

namespace perfleet {

// What is said where these programs can't run.
inline std::string off_cpu_without_bpf(const Error& why) {
    return "--off-cpu without BPF: time blocked includes the wait for a CPU, and who woke whom isn't known (" +
           why.message + ")";
}

class OffCpuTracer {
public:
    struct Options {
        std::uint64_t period_ns = 1'000'000;  // about so much time off the CPU has one record
        std::uint32_t own_pid = 0;            // never followed; 0: nobody
        bool is_system_wide = false;          // else the targets
        bool by_thread = false;               // targets are threads, else processes
        bool is_inherited = true;             // by processes that targets fork
        bool is_by_kprobe = false;            // for tests: as on kernels that have nothing of what is preferred
    };
    // `unwinder` is borrowed until this is gone. Errors: kPermission, kUnsupported, each with what is missing.
    [[nodiscard]] static Result<std::unique_ptr<OffCpuTracer>> open(const KernelUnwinder& unwinder,
                                                                    const Options& options);

    virtual ~OffCpuTracer() = default;

    // Events of type BPF output that are open on a CPU: for records with a whole chain, and for those with a copy of
    // the stack.
    [[nodiscard]] virtual Result<Done> set_outputs(std::uint32_t cpu, int whole_fd, int copy_fd) = 0;

    // From now on, or from when it begins another program. Errors: kFull.
    [[nodiscard]] virtual Result<Done> add_target(std::uint32_t id, bool waits_for_exec) = 0;

    // Whether threads are followed. At first they aren't.
    virtual void enable(bool is_enabled) = 0;

    virtual void set_period(std::uint64_t period_ns) = 0;
    // KernelUnwinder::run_time_ns(), of these programs.
    [[nodiscard]] virtual std::uint64_t run_time_ns() const = 0;

    // Times off the CPU, and forked processes, that weren't followed for want of memory, since the beginning.
    [[nodiscard]] virtual std::uint64_t missed_count() const = 0;
};

}  // namespace perfleet
