// Attributes for perf_event_open(2) of sampling events and of the side-band, and the system call itself.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <optional>

#include "target-collector/records/record_layout.h"
#include "target-collector/source/linux/event/event_spec.h"
#include "target-collector/source/linux/event/sampled_details.h"

namespace perfleet {

// Features of this kernel beyond the oldest supported one (4.1).
struct PerfFeatures {
    bool lost_counts = false;  // PERF_FORMAT_LOST, Linux 6.0
    // A group of inherited events can be read at once, Linux 4.13.
    bool inherited_group_reads = false;
    bool kernel_symbols = false;  // records of BPF programs that are loaded: Linux 5.1
    bool cgroups = false;  // cgroup ids in samples, and records of new cgroups: Linux 5.7 with CONFIG_CGROUP_PERF
};
[[nodiscard]] PerfFeatures probe_perf_features();

inline constexpr std::uint64_t kDefaultFrequencyHz = 99;

struct SamplingChoice {
    std::optional<std::uint64_t> frequency_hz;
    std::optional<std::uint64_t> period;
    // If neither is given; every hit of a tracepoint or breakpoint is taken.
    std::uint64_t default_frequency_hz = kDefaultFrequencyHz;
};

// How an event is sampled: by frequency or period; a period of 0: only counted.
struct SamplingRate {
    bool is_frequency = false;
    std::uint64_t value = 0;
};
// The event's own settings override those of the session.
[[nodiscard]] SamplingRate sampling_rate_of(const EventSpec& event, const SamplingChoice& choice);

// Those by which stacks are unwound, by perf's number: rbx, rbp, rsp and rip of x86-64; lr, x29, sp and pc of AArch64.
enum class UnwindRegister : std::uint8_t {
#if defined(__aarch64__)
    kLinkOrRbx = 30,
    kFramePointer = 29,
    kStackPointer = 31,
    kInstructionPointer = 32,
#else
    kLinkOrRbx = 1,
    kFramePointer = 6,
    kStackPointer = 7,
    kInstructionPointer = 8,
#endif
};

// The bits of perf_event_attr.sample_type.
[[nodiscard]] std::uint64_t sample_fields_of(const SampledDetails& details);

struct AttrOptions {
    bool callchain = false;
    SampledDetails details = {};
    std::uint32_t user_stack_bytes = 0;  // for unwinding in this process; 0: the kernel follows frame pointers
    bool is_copy_rare = false;           // if a BPF program unwinds (can_unwind_in_kernel()); other events get no copy
    bool inherit = false;
    bool enable_on_exec = false;
    std::uint32_t ring_size_bytes = 0;  // the kernel wakes the reader when it is half full
};

// The fields of records. Samples: IDENTIFIER, IP, TID, TIME, CPU, then PERIOD, CALLCHAIN, RAW, REGS_USER, STACK_USER,
// CGROUP and details if requested; other records end with TID, TIME, CPU, IDENTIFIER. With copies of the stack user
// registers are those for unwinding, too.
[[nodiscard]] perf_event_attr sampling_attr(const EventSpec& event, const SamplingRate& rate,
                                            const AttrOptions& options, const PerfFeatures& features);

// Whether a BPF program that unwinds stacks can be attached. Not to tracepoints, which run programs of another type,
// nor to a leader whose samples carry the counts of its group.
[[nodiscard]] bool can_unwind_in_kernel(const EventSpec& event, const SamplingRate& rate, const AttrOptions& options);

// The layout of such an event's records.
[[nodiscard]] RecordLayout layout_of(const perf_event_attr& attr);

// The event through which a BPF program emits samples: IDENTIFIER, IP, TID, TIME, CPU, the kernel's part of the
// CALLCHAIN, and RAW with the user's part.
[[nodiscard]] perf_event_attr unwound_output_attr(const EventSpec& event, const AttrOptions& options,
                                                  const PerfFeatures& features);

// The event through which off-CPU times are emitted (bpf/off_cpu_tracer.h): as unwound_output_attr(); with a copy of
// the stack if the chain couldn't be unwound.
[[nodiscard]] perf_event_attr off_cpu_output_attr(bool exclude_kernel, bool has_copy, const PerfFeatures& features);

// A dummy event that reports mappings, names, forks and exits. It never requests build-ids: Linux 6.18 would then mark
// the records of all other listeners as having one, too, and perf aborts on them.
[[nodiscard]] perf_event_attr side_band_attr(const AttrOptions& options, const PerfFeatures& features);

// A dummy event, last in a group, whose read() gives all events of the group at one moment: 3 + 3 or 4 values an event.
// A leader can't do that beside its own values: in a group's reading the kernel omits lost records of inherited events.
[[nodiscard]] perf_event_attr group_reader_attr(const AttrOptions& options, const PerfFeatures& features);

// A dummy event that only owns a ring.
[[nodiscard]] perf_event_attr ring_owner_attr(const AttrOptions& options);

// perf_event_open(2); -1 with errno. Close-on-exec. `group_fd`: the leader of the group that it joins, -1: none.
[[nodiscard]] int open_perf_event(const perf_event_attr& attr, std::int32_t pid, std::int32_t cpu,
                                  std::int32_t group_fd = -1);

}  // namespace perfleet
