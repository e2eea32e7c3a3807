// A parsed event that can be opened, close to perf_event_attr.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "schemas/perf/perf_event.h"
#include "schemas/vocabulary/series.h"

namespace perfleet {

struct EventSpec {
    std::string name;  // as written, with its group's modifiers; or its term 'name'
    std::uint32_t type = 0;
    std::uint64_t config = 0;
    std::uint64_t config1 = 0;  // a breakpoint's address
    std::uint64_t config2 = 0;  // a breakpoint's length in bytes
    std::uint32_t breakpoint_type = 0;
    std::string unit;
    bool is_processor_event = false;  // counted by a PMU of the CPUs

    // Modifiers.
    bool exclude_kernel = false;
    bool exclude_user = false;
    bool exclude_hypervisor = false;
    bool exclude_idle = false;
    bool exclude_host = false;
    bool exclude_guest = false;
    bool is_pinned = false;
    bool is_exclusive = false;
    std::uint8_t precise = 0;         // perf_event_attr.precise_ip
    bool is_precise_at_most = false;  // `precise` is lowered until the kernel accepts it

    // The event's own settings; without them the session's options apply.
    std::optional<std::uint64_t> period;
    std::optional<std::uint64_t> frequency_hz;
    std::optional<bool> callchain;
    std::uint16_t callchain_depth_max = 0;  // 0: the kernel's default
    bool is_inherited = true;
    std::vector<std::uint32_t> cpus;  // the only ones that count it; empty: all
    bool is_nowhere = false;          // no recorded CPU can count it
    std::string filter;               // of a tracepoint's fields; empty: none

    std::string format;                 // tracepoints: as tracefs gives it
    std::uint16_t group = 0;            // number from 1, for adjacent events, leader first; 0: no group
    bool is_group_weak = false;         // its events are opened separately if the kernel refuses the group
    bool samples_group = false;         // for a leader: its samples carry the counts of the whole group
    bool is_sampled_by_leader = false;  // for other events of such a group: they have no samples of their own
    bool is_off_cpu = false;            // its rows come from an OffCpuTracer: not opened
    bool takes_switches = false;        // for off-CPU time: from the kernel's switches instead (switch_times.h)
    bool is_probe = false;              // its rows come from programs (probe_reader.h): not opened
    bool is_probe_value = false;        // for a probe: numbers in `unit`, not durations
    bool is_accumulated = false;        // for a probe: accumulated latencies of a benchmark (probe/perfleet/bench.h)
    std::string probe_name;             // for a probe: its name in the program

    // Whether perf_event_open is called for it.
    [[nodiscard]] bool is_opened() const { return (!is_off_cpu || takes_switches) && !is_probe; }
    [[nodiscard]] bool is_tracepoint() const { return type == perf::kTypeTracepoint; }
    [[nodiscard]] bool is_breakpoint() const { return type == perf::kTypeBreakpoint; }
    [[nodiscard]] Kind row_kind() const {
        return is_accumulated ? Kind::kLatency : is_tracepoint() || is_probe ? Kind::kTracepoint : Kind::kSample;
    }
    [[nodiscard]] bool counts_on(std::uint32_t cpu) const {
        return !is_nowhere && (cpus.empty() || std::find(cpus.begin(), cpus.end(), cpu) != cpus.end());
    }
    // Restricts the event to these CPUs; no restriction if `wanted` is empty.
    void record_only(const std::vector<std::uint32_t>& wanted) {
        std::vector<std::uint32_t> both;
        std::ranges::copy_if(wanted, std::back_inserter(both), [this](std::uint32_t cpu) { return counts_on(cpu); });
        is_nowhere = both.empty() && !wanted.empty();
        cpus = wanted.empty() ? cpus : std::move(both);
    }
};

// A probe's name in a program (probe/perfleet/probe.h).
struct ProbeName {
    std::string name;
    std::string unit;
    bool is_value = false;
};

// Where the kernel and programs describe their events; replaced in tests.
struct EventPlaces {
    std::vector<std::string> tracefs{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
    std::string pmus{"/sys/bus/event_source/devices"};
    std::vector<ProbeName> probes{};  // of the program to be run
};

}  // namespace perfleet
