// What is asked of the kernel: attributes of sampling events and of the side-band, and the system call itself.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <optional>
#include <string>

#include "target-collector/records/record_layout.h"
#include "target-collector/source/linux/event/event_spec.h"

namespace perfleet {

// What this kernel can do beyond the oldest one supported (4.1).
struct PerfFeatures {
    bool lost_counts = false;  // PERF_FORMAT_LOST, Linux 6.0
    // A group of events that processes inherit can be read at once, Linux 4.13.
    bool inherited_group_reads = false;
    bool cgroups = false;  // samples name theirs, and records those that are made: Linux 5.7 with CONFIG_CGROUP_PERF
};
[[nodiscard]] PerfFeatures probe_perf_features();

inline constexpr std::uint64_t kDefaultFrequencyHz = 99;

struct SamplingChoice {
    std::optional<std::uint64_t> frequency_hz;
    std::optional<std::uint64_t> period;
    // Where neither is given; of tracepoints and breakpoints each is taken.
    std::uint64_t default_frequency_hz = kDefaultFrequencyHz;
};

// How one event is sampled: a frequency or a period; a period of 0: it is only counted.
struct SamplingRate {
    bool is_frequency = false;
    std::uint64_t value = 0;
};
// What the event says for itself goes before what was chosen for all.
[[nodiscard]] SamplingRate sampling_rate_of(const EventSpec& event, const SamplingChoice& choice);

struct AttrOptions {
    bool callchain = false;
    std::uint32_t user_stack_bytes = 0;  // of call chains that are unwound by us; 0: the kernel follows frame pointers
    bool is_copy_rare = false;           // a BPF program unwinds, where can_unwind_in_kernel(): others have no copy
    bool inherit = false;
    bool enable_on_exec = false;
    std::uint32_t ring_size_bytes = 0;  // the kernel wakes us when half of it is full
};

// The fields that every record of ours has. Samples: IDENTIFIER, IP, TID, TIME, CPU, then PERIOD, CALLCHAIN, RAW,
// REGS_USER, STACK_USER and CGROUP as asked for; all other records end with TID, TIME, CPU, IDENTIFIER. The user's
// registers are those that unwinding needs: rbx, rbp, rsp and rip of x86-64; x29, lr, sp and pc of AArch64.
[[nodiscard]] perf_event_attr sampling_attr(const EventSpec& event, const SamplingRate& rate,
                                            const AttrOptions& options, const PerfFeatures& features);

// Whether a BPF program can be attached that unwinds the stacks of its samples. Not to tracepoints, which run programs
// of another kind, nor to a leader whose samples carry the counts of its group.
[[nodiscard]] bool can_unwind_in_kernel(const EventSpec& event, const SamplingRate& rate, const AttrOptions& options);

// The records of such an event.
[[nodiscard]] RecordLayout layout_of(const perf_event_attr& attr);

// What a BPF program emits its samples of such an event through: IDENTIFIER, IP, TID, TIME, CPU, the kernel's part of
// the CALLCHAIN, and RAW, which is the user's.
[[nodiscard]] perf_event_attr unwound_output_attr(const EventSpec& event, const AttrOptions& options,
                                                  const PerfFeatures& features);

// What threads that come back to a CPU are shown through (bpf/off_cpu_tracer.h): as unwound_output_attr(); with a copy
// of the stack where the chain couldn't be unwound.
[[nodiscard]] perf_event_attr off_cpu_output_attr(bool exclude_kernel, bool has_copy, const PerfFeatures& features);

// A dummy event that reports mappings, names, forks and exits. It never asks for build-ids: Linux 6.18 then says of the
// records of every other listener that they hold one, too, and perf aborts over them.
[[nodiscard]] perf_event_attr side_band_attr(const AttrOptions& options, const PerfFeatures& features);

// A dummy event, last of a group, whose read() gives all of the group at one moment: 3 + 3 or 4 values an event. The
// group's own events can't do that beside what they tell by themselves: of events that are inherited the kernel
// forgets, in a group's reading, what was lost.
[[nodiscard]] perf_event_attr group_reader_attr(const AttrOptions& options, const PerfFeatures& features);

// A dummy event that only owns a ring.
[[nodiscard]] perf_event_attr ring_owner_attr(const AttrOptions& options);

// perf_event_open(2); -1 with errno. Close-on-exec. `group_fd`: the leader of the group that it joins, -1: none.
[[nodiscard]] int open_perf_event(const perf_event_attr& attr, std::int32_t pid, std::int32_t cpu,
                                  std::int32_t group_fd = -1);

}  // namespace perfleet
