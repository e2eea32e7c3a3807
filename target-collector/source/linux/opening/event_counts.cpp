#include "target-collector/source/linux/opening/event_counts.h"

#include <dirent.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "target-collector/source/linux/event/cpu_list.h"
#include "target-collector/source/linux/event/event_error.h"
#include "target-collector/source/linux/event/event_trouble.h"
#include "target-collector/source/linux/event/perf_attr.h"

namespace perfleet {
namespace {

constexpr std::size_t kReadValuesMax = 8;  // value, enabled, running, and what else the read format adds

struct Place {
    std::int32_t tid = -1;
    std::int32_t cpu = -1;
};

std::vector<std::int32_t> threads_of(std::uint32_t pid) {
    std::vector<std::int32_t> tids;
    DIR* const folder = ::opendir(("/proc/" + std::to_string(pid) + "/task").c_str());
    while (const dirent* const entry = folder == nullptr ? nullptr : ::readdir(folder)) {
        if (entry->d_name[0] != '.') {
            tids.push_back(std::atoi(entry->d_name));
        }
    }
    if (folder != nullptr) {
        ::closedir(folder);
    }
    return tids;
}

Result<std::vector<Place>> places_of(const EventCounts::Scope& scope) {
    std::vector<Place> places;
    if (scope.waiting_pid >= 0) {
        places.push_back({scope.waiting_pid, -1});
    }
    for (const std::uint32_t pid : scope.pids) {
        const std::vector<std::int32_t> tids = threads_of(pid);
        if (tids.empty()) {
            return Error{ErrorCode::kNotFound, "-p " + std::to_string(pid) + ": no such process"};
        }
        for (const std::int32_t tid : tids) {
            places.push_back({tid, -1});
        }
    }
    if (scope.all_cpus) {
        for (const std::uint32_t cpu : online_cpus()) {
            places.push_back({-1, static_cast<std::int32_t>(cpu)});
        }
    }
    return places;
}

// The attributes for counting. Members of a group count while their leader does.
perf_event_attr counting_attr(const EventSpec& event, const AttrOptions& options, bool is_member) {
    perf_event_attr attr = sampling_attr(event, SamplingRate{}, options, PerfFeatures{});
    attr.sample_type = 0;
    attr.sample_period = 0;
    attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    attr.wakeup_watermark = 0;
    attr.watermark = 0;
    if (is_member) {
        attr.disabled = 0;
        attr.enable_on_exec = 0;
    }
    return attr;
}

// True for events that the kernel counts when it switches tasks: never in user space.
bool is_of_kernel(const EventSpec& event) {
    return event.is_tracepoint() ||
           (event.type == PERF_TYPE_SOFTWARE &&
            (event.config == PERF_COUNT_SW_CONTEXT_SWITCHES || event.config == PERF_COUNT_SW_CPU_MIGRATIONS ||
             event.config == PERF_COUNT_SW_CGROUP_SWITCHES));
}

bool may_count(const EventSpec& event) {
    const FileDescriptor fd{open_perf_event(counting_attr(event, {}, false), 0, -1)};
    return fd || !is_permission(errno);
}

}  // namespace

std::string leave_out_kernel_where_forbidden(std::vector<EventSpec>& events) {
    std::string message;
    for (EventSpec& event : events) {
        if (event.exclude_kernel || event.exclude_user || !event.is_opened() || is_of_kernel(event) ||
            is_pmu_event(event) || may_count(event)) {
            continue;
        }
        EventSpec in_user_space = event;
        in_user_space.exclude_kernel = true;
        in_user_space.name += event.name.find(':') == std::string::npos ? ":u" : "u";
        if (may_count(in_user_space)) {
            event = std::move(in_user_space);
            message = "counting in user space only (" + paranoid_text() + "); in the kernel, too: " + way_to_rights();
        }
    }
    return message;
}

std::optional<double> EventCount::scaled() const {
    if (running_ns == 0) {
        return enabled_ns == 0 ? std::optional{static_cast<double>(value)} : std::nullopt;
    }
    return static_cast<double>(value) * (static_cast<double>(enabled_ns) / static_cast<double>(running_ns));
}

Result<std::unique_ptr<EventCounts>> EventCounts::open(std::span<const EventSpec> events, const Scope& scope) {
    if (const auto probe = std::ranges::find_if(events, &EventSpec::is_probe); probe != events.end()) {
        return event_error(probe->name, "programs write it, and it isn't counted; perfleet record stores each row");
    }
    const auto places = PERFLEET_TRY(places_of(scope));
    std::unique_ptr<EventCounts> counts{new EventCounts};
    counts->refused_.resize(events.size());
    counts->waits_for_exec_ = scope.waiting_pid >= 0;
    const AttrOptions options{.inherit = !scope.all_cpus, .enable_on_exec = scope.waiting_pid >= 0};
    std::size_t open_count = 0;
    for (const Place& place : places) {
        int leader = -1;
        for (std::size_t i = 0; i < events.size(); ++i) {
            const bool begins_group = i == 0 || events[i].group == 0 || events[i - 1].group != events[i].group;
            leader = begins_group ? -1 : leader;
            if (counts->refused_[i] ||
                (place.cpu >= 0 && !events[i].counts_on(static_cast<std::uint32_t>(place.cpu)))) {
                continue;
            }
            const perf_event_attr attr = counting_attr(events[i], options, leader >= 0);
            FileDescriptor fd{open_perf_event(attr, place.tid, place.cpu, leader)};
            if (!fd && errno == ESRCH && !scope.pids.empty()) {
                continue;  // the thread has ended
            }
            if (!fd && (errno == EMFILE || errno == ENFILE)) {
                return descriptors_error(places.size() * events.size());
            }
            if (!fd) {
                counts->refused_[i] = open_error(events[i], errno);
                continue;
            }
            if (!events[i].filter.empty() &&
                ::ioctl(fd.get(), PERF_EVENT_IOC_SET_FILTER, events[i].filter.c_str()) != 0) {
                return filter_error(events[i], errno);
            }
            leader = events[i].group != 0 && leader < 0 ? fd.get() : leader;
            counts->fds_.push_back({std::move(fd), i});
            ++open_count;
        }
    }
    for (const std::optional<Error>& refused : counts->refused_) {
        if (open_count == 0 && refused && refused->code == ErrorCode::kPermission) {
            return Error{*refused};
        }
    }
    return counts;
}

void EventCounts::enable() {
    for (const OpenFd& open : fds_) {
        if (!waits_for_exec_) {
            (void)::ioctl(open.fd.get(), PERF_EVENT_IOC_ENABLE, 0);
        }
    }
}

std::vector<std::optional<EventCount>> EventCounts::read() const {
    std::vector<std::optional<EventCount>> counts(refused_.size());
    for (std::size_t i = 0; i < counts.size(); ++i) {
        if (!refused_[i]) {
            counts[i].emplace();
        }
    }
    for (const OpenFd& open : fds_) {
        std::array<std::uint64_t, kReadValuesMax> values{};
        std::optional<EventCount>& count = counts[open.event_index];
        if (count &&
            ::read(open.fd.get(), values.data(), sizeof values) >= static_cast<ssize_t>(3 * sizeof values[0])) {
            count->value += values[0];
            count->enabled_ns += values[1];
            count->running_ns += values[2];
        }
    }
    return counts;
}

}  // namespace perfleet
