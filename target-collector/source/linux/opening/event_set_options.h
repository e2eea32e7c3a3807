// The settings of what a session records: events, threads, CPUs and rates.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "target-collector/source/linux/bpf/kernel_unwinder.h"
#include "target-collector/source/linux/bpf/off_cpu_tracer.h"
#include "target-collector/source/linux/event/event_spec.h"
#include "target-collector/source/linux/event/period_jitter.h"
#include "target-collector/source/linux/event/sampled_details.h"

namespace perfleet {

struct EventSetOptions {
    std::vector<EventSpec> events;  // empty: cycles, or cpu-clock if unavailable, unless there are probes
    std::vector<EventSpec> probes;  // events whose rows programs write
    SamplingChoice sampling;
    bool callchain = false;
    SampledDetails details = {};
    std::uint32_t user_stack_bytes = 0;           // AttrOptions
    KernelUnwinder* kernel_unwinder = nullptr;    // borrowed; null: no unwinding by BPF
    OffCpuTracer* off_cpu = nullptr;              // borrowed; null: no off-CPU time by BPF
    std::uint64_t off_cpu_period_ns = 0;          // without a tracer: from the kernel's switches; 0: none
    PeriodJitter jitter;                          // of fixed periods; none by default
    bool all_cpus = false;                        // record the whole machine; else `pids`
    bool all_user = false;                        // exclude the kernel from all events
    bool all_kernel = false;                      // exclude user space
    std::vector<std::uint32_t> cpus;              // record only these; empty: all
    std::vector<std::uint32_t> pids;              // with their threads and future children
    bool with_descendants = false;                // also existing children, if they may be profiled
    std::vector<std::uint32_t> tids;              // only these threads
    std::optional<std::uint32_t> uid;             // all processes of this user and their future children
    bool is_inherited = true;                     // by children
    bool begins_stopped = false;                  // until start()
    bool is_frequency_strict = false;             // a frequency above the kernel's limit is an error
    bool enable_on_exec = false;                  // sampling begins at exec
    std::uint32_t ring_page_count = 0;            // of a sample ring; 0: default_ring_pages(), or the allowed number
    std::size_t waiting_size_bytes = 64U << 20U;  // memory for fetched records of all rings
};

}  // namespace perfleet
