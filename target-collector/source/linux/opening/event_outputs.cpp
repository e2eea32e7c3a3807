// EventSet: the events through which BPF programs emit.
#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "schemas/vocabulary/off_cpu.h"
#include "target-collector/source/linux/opening/event_set.h"

namespace perfleet {

std::optional<std::uint32_t> EventSet::unwound_ordinal(std::uint32_t event_index) const {
    const auto is_unwound = [this](const OpenEvent& event) {
        return options_.kernel_unwinder != nullptr && event.spec.is_opened() &&
               can_unwind_in_kernel(event.spec, event.rate, attr_options());
    };
    const auto ordinal = std::count_if(events_.begin(), events_.begin() + event_index, is_unwound);
    return is_unwound(events_[event_index]) && ordinal < KernelUnwinder::kEventsMax
               ? std::optional{static_cast<std::uint32_t>(ordinal)}
               : std::nullopt;
}

Result<Done> EventSet::attach_unwinder(int fd, std::uint32_t event_index) const {
    const auto ordinal = unwound_ordinal(event_index);
    if (!ordinal) {
        return Done{};
    }
    auto program = PERFLEET_TRY(options_.kernel_unwinder->program_of(*ordinal));
    if (::ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) != 0) {
        return error_from_errno(errno, "-e " + events_[event_index].spec.name +
                                           ": can't attach the BPF program that unwinds (--call-graph dwarf does "
                                           "without)");
    }
    return Done{};
}

// Opens outputs before the events whose programs emit through them.
Result<Done> EventSet::open_outputs() {
    for (std::uint32_t i = 0; i < events_.size(); ++i) {
        const auto ordinal = unwound_ordinal(i);
        for (std::uint32_t cpu_index = 0; ordinal && cpu_index < cpus_.size(); ++cpu_index) {
            const auto fd =
                open_output(unwound_output_attr(events_[i].spec, attr_options(), features_), i, cpu_index, false);
            if (!fd.ok()) {
                return Error{fd.error()};
            }
            PERFLEET_TRY(options_.kernel_unwinder->set_output(*ordinal, cpus_[cpu_index], *fd));
        }
    }
    return open_off_cpu_outputs();
}

Result<int> EventSet::open_output(const perf_event_attr& attr, std::uint32_t event_index, std::uint32_t cpu_index,
                                  bool has_copy) {
    const int fd = open_perf_event(attr, -1, static_cast<std::int32_t>(cpus_[cpu_index]));
    if (fd < 0) {
        return error_from_errno(errno, "can't open the output of a BPF program");
    }
    fds_.push_back({fd, OpeningRole::kOutput, event_index, cpu_index, 0, 0, has_copy, 0});
    auto done = connect(fds_.back());
    return done.ok() ? Result<int>{fd} : Error{done.error()};
}

void EventSet::add_off_cpu_events() {
    if (options_.off_cpu_period_ns == 0) {
        return;
    }
    off_cpu_index_ = static_cast<std::uint32_t>(events_.size());
    for (const std::string_view name : off_cpu::kEvents) {
        OpenEvent event;
        event.spec.name = name;
        event.spec.type = PERF_TYPE_SOFTWARE;
        event.spec.config = PERF_COUNT_SW_BPF_OUTPUT;
        event.spec.unit = "ns";
        event.spec.exclude_kernel = options_.all_user;
        event.spec.is_off_cpu = true;
        event.spec.is_nowhere = true;
        event.rate = {false, options_.off_cpu_period_ns};
        event.layout.sample_type = perf::sample_type::kCallchain;
        if (options_.off_cpu == nullptr && name == off_cpu::kBlocked) {
            event.spec.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
            event.spec.takes_switches = true;
            event.spec.is_nowhere = false;
            event.spec.callchain = true;
            event.spec.is_inherited = options_.is_inherited && options_.tids.empty();
            event.spec.record_only(options_.cpus);
            choose_layout(event);
        }
        events_.push_back(std::move(event));
    }
}

Result<Done> EventSet::open_off_cpu_outputs() {
    for (std::uint32_t cpu_index = 0; options_.off_cpu != nullptr && cpu_index < cpus_.size(); ++cpu_index) {
        const std::uint32_t cpu = cpus_[cpu_index];
        if (!options_.cpus.empty() &&
            std::find(options_.cpus.begin(), options_.cpus.end(), cpu) == options_.cpus.end()) {
            continue;
        }
        std::array<int, 2> fds{};
        for (const bool has_copy : {false, true}) {
            const auto fd = PERFLEET_TRY(open_output(off_cpu_output_attr(options_.all_user, has_copy, features_),
                                                     *off_cpu_index_, cpu_index, has_copy));
            fds[has_copy ? 1 : 0] = fd;
        }
        PERFLEET_TRY(options_.off_cpu->set_outputs(cpu, fds[0], fds[1]));
    }
    return Done{};
}

// BPF programs emit the same fields for on-CPU and off-CPU samples.
RecordOrigin EventSet::origin_of_output(const OpenFd& open) const {
    return {open.event_index, layout_of(off_cpu_output_attr(options_.all_user, open.has_copy, features_)), true,
            options_.off_cpu != nullptr && open.event_index == off_cpu_index_};
}

}  // namespace perfleet
