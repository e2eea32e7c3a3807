// Measures off-CPU time of threads by stack: BPF programs on the scheduler's tracepoints (off_cpu.bpf.c), which unwind
// by the maps of a KernelUnwinder.
//
// A resource. One thread. A thread's record goes to the outputs of the CPU on which it continues.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "schemas/vocabulary/error.h"
#include "target-collector/source/linux/bpf/kernel_unwinder.h"

namespace perfleet {

// The message if these programs can't run.
inline std::string off_cpu_without_bpf(const Error& why) {
    return "--off-cpu without BPF: time blocked includes the wait for a CPU, and who woke whom isn't known (" +
           why.message + ")";
}

class OffCpuTracer {
public:
    struct Options {
        std::uint64_t period_ns = 1'000'000;  // off-CPU time per record, on average
        std::uint32_t own_pid = 0;            // never traced; 0: none
        bool is_system_wide = false;          // else the targets
        bool by_thread = false;               // targets are threads, else processes
        bool is_inherited = true;             // by processes that targets fork
        bool is_by_kprobe = false;            // for tests: as on kernels without the preferred features
    };
    // `unwinder` is borrowed. Errors: kPermission, kUnsupported; each says what is missing.
    [[nodiscard]] static Result<std::unique_ptr<OffCpuTracer>> open(const KernelUnwinder& unwinder,
                                                                    const Options& options);

    virtual ~OffCpuTracer() = default;

    // Open events of type BPF output on a CPU: for records with a complete chain, and for those with a copy of the
    // stack.
    [[nodiscard]] virtual Result<Done> set_outputs(std::uint32_t cpu, int whole_fd, int copy_fd) = 0;

    // Traces the target from now on, or from its next exec. Errors: kFull.
    [[nodiscard]] virtual Result<Done> add_target(std::uint32_t id, bool waits_for_exec) = 0;

    // Switches tracing on or off; initially off.
    virtual void enable(bool is_enabled) = 0;

    virtual void set_period(std::uint64_t period_ns) = 0;
    // As KernelUnwinder::run_time_ns(), for these programs.
    [[nodiscard]] virtual std::uint64_t run_time_ns() const = 0;

    // Off-CPU times and forked processes that were missed for lack of memory, since the beginning.
    [[nodiscard]] virtual std::uint64_t missed_count() const = 0;
};

}  // namespace perfleet
