// Finds out which of the wanted events this user and machine can have: tries each once, before any is opened for
// recording.
#include <linux/perf_event.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "schemas/host/file_descriptor.h"
#include "target-collector/process/proc_reader.h"
#include "target-collector/source/linux/event/event_table.h"
#include "target-collector/source/linux/event/event_trouble.h"
#include "target-collector/source/linux/opening/event_set.h"

namespace perfleet {

// Tries every event once, with fallbacks for what isn't possible or permitted.
Result<Done> EventSet::probe_events(const LogText& log) {
    for (std::size_t i = 0; i < events_.size();) {
        if (targets_.threads.empty()) {
            return permission_error("-a");
        }
        OpenEvent& event = events_[i];
        if (!first_cpu_of(event.spec)) {
            return Error{ErrorCode::kUsage, "-e " + event.spec.name + ": none of the CPUs that count it is recorded"};
        }
        FileDescriptor fd{open_for_probe(attr_of(event), event.spec)};
        const int error = errno;
        if (fd) {
            if (event.spec.is_tracepoint()) {
                tried_fds_.push_back(std::move(fd));
            }
            ++i;
        } else if (fall_back(event, error, log)) {
            continue;
        } else if (is_optional_gone(targets_.threads.front(), error)) {
            targets_.threads.erase(targets_.threads.begin());
        } else if (error == ESRCH) {
            return process_ended();
        } else if (is_permission(error) && targets_.threads.front().tid > 0) {
            return permission_error("-e " + event.spec.name + " of process " +
                                    std::to_string(targets_.threads.front().tid));
        } else {
            return refused_details(event.spec, error).value_or(open_error(event.spec, error));
        }
    }
    dissolve_weak_groups(log);
    for (OpenEvent& event : events_) {
        choose_layout(event);
    }
    return Done{};
}

std::optional<std::uint32_t> EventSet::first_cpu_of(const EventSpec& spec) const {
    const auto cpu = std::find_if(cpus_.begin(), cpus_.end(), [&](std::uint32_t one) { return spec.counts_on(one); });
    return cpu == cpus_.end() ? std::nullopt : std::optional{*cpu};
}

int EventSet::open_for_probe(const perf_event_attr& attr, const EventSpec& spec, int group_fd) const {
    return open_perf_event(attr, targets_.threads.front().tid, static_cast<std::int32_t>(*first_cpu_of(spec)),
                           group_fd);
}

void EventSet::dissolve_weak_groups(const LogText& log) {
    for (std::size_t first = 0; first < events_.size();) {
        const std::uint16_t group = events_[first].spec.group;
        std::size_t end = first + 1;
        while (group != 0 && end < events_.size() && events_[end].spec.group == group) {
            ++end;
        }
        if (events_[first].spec.is_group_weak) {
            std::vector<FileDescriptor> fds;
            for (std::size_t i = first; i < end && (fds.empty() || fds.back()); ++i) {
                fds.emplace_back(
                    open_for_probe(attr_of(events_[i]), events_[i].spec, fds.empty() ? -1 : fds.front().get()));
            }
            const bool is_refused = !fds.back();
            fds.clear();
            for (std::size_t i = first; i < end && is_refused; ++i) {
                EventSpec& spec = events_[i].spec;
                spec.group = 0;
                spec.samples_group = false;
                spec.is_sampled_by_leader = false;
                events_[i].rate = sampling_rate_of(spec, options_.sampling);
            }
            if (is_refused) {
                log("the kernel doesn't count " + events_[first].spec.name + " and the " +
                    std::to_string(end - first - 1) + " behind it as one group: each is counted by itself");
            }
        }
        first = end;
    }
}

void EventSet::choose_layout(OpenEvent& event) const {
    event.layout = layout_of(attr_of(event));
    event.layout.period = event.rate.is_frequency ? 1 : event.rate.value;
}

bool EventSet::fall_back(OpenEvent& event, int error, const LogText& log) {
    const std::uint32_t own_uid = ::geteuid();  // in a container it may be 0, without rights
    if (is_permission(error) && can_have_user_space_only(event)) {
        for (OpenEvent& other : events_) {
            other.spec.exclude_kernel = true;
        }
        log("profiling user space only (" + paranoid_text() + "); for the kernel, too: " + way_to_rights());
        return true;
    }
    if (is_permission(error) && options_.all_cpus) {
        options_.all_cpus = false;
        targets_ = {};
        for (const std::uint32_t pid : proc_pids()) {
            if (proc_uid(pid) == own_uid) {
                targets_.add_optional(pid);
            }
        }
        log("profiling only your own processes (" + std::to_string(targets_.pids.size()) + " now; " + paranoid_text() +
            "); root and CAP_PERFMON profile all");
        return true;
    }
    if (event.spec.is_precise_at_most && event.spec.precise > 0 && !is_permission(error) && error != ESRCH) {
        --event.spec.precise;
        return true;
    }
    if (is_pmu_event(event.spec) && error == EINVAL && fall_back_to_counting(event, log)) {
        return true;
    }
    if (!events_were_named_ && event.spec.type == PERF_TYPE_HARDWARE && !is_permission(error) && error != ESRCH) {
        const bool exclude_kernel = event.spec.exclude_kernel;
        event.spec = spec_of(*find_named_event("cpu-clock"));
        event.spec.exclude_kernel = exclude_kernel;
        limit_as_asked(event.spec);
        log("this machine has no cycle counter that can be used: sampling cpu-clock instead");
        return true;
    }
    return false;
}

// Many PMUs of a bus or socket can count, but can't interrupt for samples.
bool EventSet::fall_back_to_counting(OpenEvent& event, const LogText& log) {
    OpenEvent counted = event;
    counted.rate = {false, 0};
    if (event.rate.value == 0 || !FileDescriptor{open_for_probe(attr_of(counted), event.spec)}) {
        return false;
    }
    event.rate = counted.rate;
    log(event.spec.name + " can't be sampled: it is only counted ('perfleet counters' shows it)");
    return true;
}

// Whether this user is denied only the kernel part of the event.
bool EventSet::can_have_user_space_only(const OpenEvent& event) const {
    if (event.spec.exclude_kernel || event.spec.exclude_user || is_pmu_event(event.spec)) {
        return false;  // a PMU of a bus or socket can't separate them
    }
    perf_event_attr user_only = attr_of(event);
    user_only.exclude_kernel = 1;
    const FileDescriptor fd{open_perf_event(user_only, options_.all_cpus ? 0 : targets_.threads.front().tid,
                                            static_cast<std::int32_t>(cpus_.front()))};
    return fd || (!is_permission(errno) && errno != ESRCH);  // another reason: the next try reports it
}

}  // namespace perfleet
