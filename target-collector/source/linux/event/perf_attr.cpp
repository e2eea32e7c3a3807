#include "target-collector/source/linux/event/perf_attr.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "schemas/host/file_descriptor.h"
#include "schemas/perf/perf_event.h"
#include "target-collector/source/linux/event/call_chain_mode.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kSampleType = perf::sample_type::kIdentifier | perf::sample_type::kIp |
                                      perf::sample_type::kTid | perf::sample_type::kTime | perf::sample_type::kCpu;

constexpr std::uint64_t bit_of(UnwindRegister number) { return 1ULL << static_cast<unsigned>(number); }
constexpr std::uint64_t kUserRegisters = bit_of(UnwindRegister::kLinkOrRbx) | bit_of(UnwindRegister::kFramePointer) |
                                         bit_of(UnwindRegister::kStackPointer) |
                                         bit_of(UnwindRegister::kInstructionPointer);

perf_event_attr base_attr(const AttrOptions& options) {
    perf_event_attr attr{};
    attr.size = sizeof(attr);
    attr.sample_type = kSampleType;
    attr.use_clockid = 1;
    attr.clockid = CLOCK_MONOTONIC;
    attr.sample_id_all = 1;
    attr.watermark = 1;
    attr.wakeup_watermark = std::max(options.ring_size_bytes / 2, 1U);
    return attr;
}

perf_event_attr dummy_attr(const AttrOptions& options) {
    perf_event_attr attr = base_attr(options);
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_DUMMY;
    attr.exclude_hv = 1;
    attr.exclude_kernel = 1;  // excludes nothing, but without it the kernel refuses unprivileged users
    return attr;
}

std::uint64_t read_format(const PerfFeatures& features) {
    return PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID |
           (features.lost_counts ? static_cast<std::uint64_t>(PERF_FORMAT_LOST) : 0U);
}

bool opens(const perf_event_attr& attr) { return FileDescriptor{open_perf_event(attr, 0, -1)}.get() >= 0; }

}  // namespace

PerfFeatures probe_perf_features() {
    PerfFeatures features;
    perf_event_attr attr = dummy_attr({});
    attr.read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST;
    features.lost_counts = opens(attr);
    attr = dummy_attr({});
    attr.inherit = 1;
    attr.read_format = PERF_FORMAT_ID | PERF_FORMAT_GROUP;
    features.inherited_group_reads = opens(attr);
    attr = dummy_attr({});
    attr.cgroup = 1;
    attr.sample_type |= perf::sample_type::kCgroup;
    features.cgroups = opens(attr);
    attr = dummy_attr({});
    attr.ksymbol = 1;
    features.kernel_symbols = opens(attr);
    return features;
}

std::uint64_t sample_fields_of(const SampledDetails& details) {
    return details.fields | (details.user_registers != 0 ? perf::sample_type::kRegsUser : 0) |
           (details.interrupt_registers != 0 ? perf::sample_type::kRegsIntr : 0);
}

SamplingRate sampling_rate_of(const EventSpec& event, const SamplingChoice& choice) {
    if (event.is_sampled_by_leader) {
        return {false, 0};
    }
    if (event.period) {
        return {false, *event.period};
    }
    if (event.frequency_hz) {
        return {true, *event.frequency_hz};
    }
    if (choice.period) {
        return {false, *choice.period};
    }
    if (choice.frequency_hz) {
        return {true, *choice.frequency_hz};
    }
    if (event.is_tracepoint() || event.is_breakpoint()) {
        return {false, 1};
    }
    return {true, choice.default_frequency_hz};
}

perf_event_attr sampling_attr(const EventSpec& event, const SamplingRate& rate, const AttrOptions& options,
                              const PerfFeatures& features) {
    perf_event_attr attr = base_attr(options);
    attr.type = event.type;
    attr.config = event.config;
    attr.config1 = event.config1;
    attr.config2 = event.config2;
    attr.bp_type = event.breakpoint_type;
    attr.read_format = read_format(features);
    attr.disabled = 1;
    attr.inherit = options.inherit && event.is_inherited ? 1 : 0;
    attr.enable_on_exec = options.enable_on_exec ? 1 : 0;
    attr.exclude_kernel = event.exclude_kernel && !event.takes_switches ? 1 : 0;  // switches happen in the kernel
    attr.exclude_user = event.exclude_user ? 1 : 0;
    attr.exclude_hv = event.exclude_hypervisor ? 1 : 0;
    attr.exclude_idle = event.exclude_idle ? 1 : 0;
    attr.exclude_host = event.exclude_host ? 1 : 0;
    attr.exclude_guest = event.exclude_guest ? 1 : 0;
    attr.precise_ip = event.precise & 3U;
    attr.pinned = event.is_pinned ? 1 : 0;
    attr.exclusive = event.is_exclusive ? 1 : 0;
    if (rate.is_frequency) {
        attr.freq = 1;
        attr.sample_freq = rate.value;
    } else {
        attr.sample_period = event.takes_switches ? 1 : rate.value;
    }
    attr.context_switch = event.takes_switches ? 1 : 0;
    // With the period in samples, the kernel ignores a software event's fixed period: every event becomes a sample.
    const bool counts_every_event = event.type == PERF_TYPE_SOFTWARE || event.is_tracepoint() || event.is_breakpoint();
    if (rate.is_frequency || rate.value == 1 || !counts_every_event) {
        attr.sample_type |= perf::sample_type::kPeriod;
    }
    if (features.cgroups) {
        attr.sample_type |= perf::sample_type::kCgroup;
    }
    if (event.callchain.value_or(options.callchain)) {
        attr.sample_max_stack = event.callchain_depth_max;
        attr.sample_type |= perf::sample_type::kCallchain;
        attr.exclude_callchain_kernel = event.exclude_kernel ? 1 : 0;
        attr.exclude_callchain_user = event.exclude_user ? 1 : 0;
        const bool is_unwound = !options.is_copy_rare || can_unwind_in_kernel(event, rate, options);
        if (options.user_stack_bytes != 0 && !event.exclude_user && is_unwound) {
            attr.exclude_callchain_user = 1;
            attr.sample_type |= perf::sample_type::kRegsUser | perf::sample_type::kStackUser;
            attr.sample_regs_user = kUserRegisters;
            attr.sample_stack_user = options.user_stack_bytes;
            if (options.is_copy_rare) {
                // Wakes the collector at once: a copied stack is of a process that the BPF program doesn't know yet.
                attr.watermark = 0;
                attr.wakeup_events = 1;
            }
        }
    }
    if (!event.takes_switches) {
        attr.sample_type |= sample_fields_of(options.details);
        attr.sample_regs_user |= options.details.user_registers;
        attr.sample_regs_intr = options.details.interrupt_registers;
        attr.branch_sample_type = options.details.branch_type;
    }
    if (event.samples_group) {
        attr.sample_type |= perf::sample_type::kRead;
        attr.read_format |= PERF_FORMAT_GROUP;
    }
    if (event.is_tracepoint()) {
        attr.sample_type |= perf::sample_type::kRaw;
    }
    return attr;
}

RecordLayout layout_of(const perf_event_attr& attr) {
    return {.sample_type = attr.sample_type,
            .read_format = attr.read_format,
            .branch_sample_type = attr.branch_sample_type,
            .sample_regs_user = attr.sample_regs_user,
            .sample_regs_intr = attr.sample_regs_intr};
}

bool can_unwind_in_kernel(const EventSpec& event, const SamplingRate& rate, const AttrOptions& options) {
    return event.callchain.value_or(options.callchain) && rate.value > 0 && !event.exclude_user &&
           !event.is_tracepoint() && !event.samples_group && !event.takes_switches;
}

perf_event_attr unwound_output_attr(const EventSpec& event, const AttrOptions& options, const PerfFeatures& features) {
    perf_event_attr attr = base_attr(options);
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_BPF_OUTPUT;
    attr.sample_period = 1;
    attr.read_format = read_format(features);
    attr.sample_type |= perf::sample_type::kCallchain | perf::sample_type::kRaw;
    if (features.cgroups) {
        attr.sample_type |= perf::sample_type::kCgroup;
    }
    attr.exclude_callchain_kernel = event.exclude_kernel ? 1 : 0;
    attr.exclude_callchain_user = 1;
    return attr;
}

perf_event_attr off_cpu_output_attr(bool exclude_kernel, bool has_copy, const PerfFeatures& features) {
    EventSpec event;
    event.exclude_kernel = exclude_kernel;
    perf_event_attr attr = unwound_output_attr(event, {}, features);
    if (has_copy) {
        attr.sample_type |= perf::sample_type::kRegsUser | perf::sample_type::kStackUser;
        attr.sample_regs_user = kUserRegisters;
        attr.sample_stack_user = kRareUserStackBytes;
        attr.watermark = 0;
        attr.wakeup_events = 1;
    }
    return attr;
}

perf_event_attr side_band_attr(const AttrOptions& options, const PerfFeatures& features) {
    perf_event_attr attr = dummy_attr(options);
    attr.read_format = read_format(features);
    attr.disabled = 1;
    attr.inherit = options.inherit ? 1 : 0;
    attr.mmap = 1;
    attr.mmap2 = 1;
    attr.comm = 1;
    attr.comm_exec = 1;
    attr.task = 1;
    attr.cgroup = features.cgroups ? 1 : 0;
    attr.ksymbol = features.kernel_symbols ? 1 : 0;
    return attr;
}

perf_event_attr group_reader_attr(const AttrOptions& options, const PerfFeatures& features) {
    perf_event_attr attr = dummy_attr(options);
    attr.read_format = read_format(features) | PERF_FORMAT_GROUP;
    attr.inherit = options.inherit ? 1 : 0;
    return attr;
}

perf_event_attr ring_owner_attr(const AttrOptions& options) {
    perf_event_attr attr = dummy_attr(options);
    attr.disabled = 1;
    return attr;
}

int open_perf_event(const perf_event_attr& attr, std::int32_t pid, std::int32_t cpu, std::int32_t group_fd) {
    return static_cast<int>(::syscall(SYS_perf_event_open, &attr, pid, cpu, group_fd, PERF_FLAG_FD_CLOEXEC));
}

}  // namespace perfleet
