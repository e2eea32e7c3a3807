// What a session records, and how: events, on which threads and CPUs, at which rate.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "target-collector/source/linux/bpf/kernel_unwinder.h"
#include "target-collector/source/linux/bpf/off_cpu_tracer.h"
#include "target-collector/source/linux/event/event_spec.h"
#include "target-collector/source/linux/event/period_jitter.h"

namespace perfleet {

struct EventSetOptions {
    std::vector<EventSpec> events;  // empty: cycles, or cpu-clock where there is none and no probes are
    std::vector<EventSpec> probes;  // events that programs write the rows of
    SamplingChoice sampling;
    bool callchain = false;
    std::uint32_t user_stack_bytes = 0;         // AttrOptions
    KernelUnwinder* kernel_unwinder = nullptr;  // borrowed; null: no BPF program unwinds
    OffCpuTracer* off_cpu = nullptr;            // borrowed; null: threads aren't followed off the CPU
    std::uint64_t off_cpu_period_ns = 0;        // without a tracer: by the kernel's switches; 0: not at all
    PeriodJitter jitter;                        // of fixed periods; none by default
    bool all_cpus = false;                      // everything that runs; else `pids`
    bool all_user = false;                      // exclude the kernel from all events
    bool all_kernel = false;                    // exclude user space
    std::vector<std::uint32_t> cpus;            // record only these; empty: all
    std::vector<std::uint32_t> pids;            // with their threads, and what they will fork
    bool with_descendants = false;              // and what they have forked already, as far as it may be profiled
    std::vector<std::uint32_t> tids;            // these threads alone
    std::optional<std::uint32_t> uid;           // all processes of this user, and what they will fork
    bool is_inherited = true;                   // by what is forked
    bool begins_stopped = false;                // until start()
    bool is_frequency_strict = false;           // a frequency above the kernel's limit is an error
    bool enable_on_exec = false;                // sampling begins when they exec
    std::uint32_t ring_page_count = 0;          // of a sample ring; 0: default_ring_pages(), or as many as are allowed
    std::size_t waiting_size_bytes = 64U << 20U;  // memory for records of all rings that wait to be taken
};

}  // namespace perfleet
