// EventSet: reopens events during a session.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string>

#include "target-collector/process/small_file.h"
#include "target-collector/source/linux/opening/event_set.h"

namespace perfleet {

Result<Done> EventSet::change_rate(std::optional<std::uint32_t> event_index, const SamplingRate& rate,
                                   std::uint64_t now_ns) {
    if (!options_.all_cpus) {
        return Error{ErrorCode::kUnsupported,
                     "it measures processes, and what they have forked would keep the old rate; stop and start work"};
    }
    if (rate.value == 0 || rate.value > INT64_MAX) {
        return Error{ErrorCode::kUsage, rate.is_frequency ? "a frequency is at least 1 Hz" : "a period is at least 1"};
    }
    const auto rate_max = read_integer_file(kMaxSampleRatePath);
    if (rate.is_frequency && rate_max && rate.value > static_cast<std::uint64_t>(*rate_max)) {
        return Error{ErrorCode::kUsage,
                     "at most " + std::to_string(*rate_max) + " Hz, as " + kMaxSampleRatePath + " says"};
    }
    std::vector<OpenEvent> changed = events_;
    for (std::uint32_t i = 0; i < changed.size(); ++i) {
        const bool is_sampled = changed[i].rate.value > 0 && changed[i].spec.is_opened();
        changed[i].rate = is_sampled && (!event_index || i == *event_index) ? rate : changed[i].rate;
    }
    return reopen(event_index, std::move(changed), now_ns);
}

void EventSet::redraw_periods(std::uint64_t now_ns) {
    for (std::uint32_t i = 0; options_.all_cpus && i < events_.size(); ++i) {
        if (options_.jitter.changes(events_[i].spec, events_[i].rate) && events_[i].spec.group == 0) {
            (void)reopen(i, events_, now_ns);
        }
    }
}

Result<Done> EventSet::reopen(std::optional<std::uint32_t> event_index, std::vector<OpenEvent> changed,
                              std::uint64_t now_ns) {
    const std::vector<Opening> plan = plan_openings(changed, attr_options(), features_);
    std::vector<OpenFd*> old;
    std::vector<OpenFd> anew;
    std::optional<Error> refused;
    int leader_fd = -1;
    for (std::size_t i = 0; i < fds_.size() && !refused; ++i) {
        OpenFd& open = fds_[i];
        if (!is_meant(open, event_index)) {
            continue;
        }
        Opening opening = plan[open.plan_index];
        OpenFd fresh = open;
        fresh.weight = draw_period(opening, changed[open.event_index]);
        fresh.fd = open_perf_event(opening.attr, -1, static_cast<std::int32_t>(cpus_[open.cpu_index]),
                                   joins_group(opening.role) ? leader_fd : -1);
        if (fresh.fd < 0) {
            refused = opening_error(opening, errno);
            continue;
        }
        leader_fd = joins_group(opening.role) ? leader_fd : fresh.fd;
        old.push_back(&open);
        anew.push_back(fresh);
        if (auto done = connect(anew.back()); !done.ok()) {
            refused = std::move(done).error();
        }
    }
    if (refused) {
        for (const OpenFd& fresh : anew) {
            ::close(fresh.fd);
        }
        return std::move(*refused);
    }
    std::vector<OpenFd> closing;
    for (const OpenFd* const open : old) {
        closing.push_back(*open);
    }
    close_all(closing, now_ns);
    for (std::size_t i = 0; i < old.size(); ++i) {
        *old[i] = anew[i];
        if (is_switch(anew[i]) && !events_[anew[i].event_index].is_stopped) {
            ::ioctl(anew[i].fd, PERF_EVENT_IOC_ENABLE, 0);
        }
    }
    for (std::uint32_t i = 0; i < events_.size(); ++i) {
        if ((!event_index || i == *event_index) && events_[i].spec.is_opened()) {
            events_[i].rate = changed[i].rate;
            choose_layout(events_[i]);
        }
    }
    index_ids();
    return Done{};
}

// Keeps their counts, and what is needed to decode their remaining records.
void EventSet::close_all(std::span<const OpenFd> closing, std::uint64_t now_ns) {
    for (const OpenFd& open : closing) {
        if (is_switch(open)) {
            ::ioctl(open.fd, PERF_EVENT_IOC_DISABLE, 0);
        }
    }
    closed_readings_.resize((events_.size() + 1) * cpus_.size());
    add_readings(closing, closed_readings_);
    for (const OpenFd& open : closing) {
        ::close(open.fd);
        if (open.role != OpeningRole::kReader) {
            closed_.push_back({open.id, origin_of_event(open), now_ns});
        }
    }
}

Result<Done> EventSet::open_without_unwinder(std::span<const std::uint32_t> tids) {
    AttrOptions options = attr_options();
    options.user_stack_bytes = 0;
    options.is_copy_rare = false;
    options.enable_on_exec = false;
    const std::vector<Opening> plan = plan_openings(events_, options, features_);
    KernelUnwinder* const unwinder = std::exchange(options_.kernel_unwinder, nullptr);
    std::vector<OpenFd> former = std::exchange(fds_, std::exchange(next_fds_, {}));
    Result<Done> opened{Done{}};
    for (const std::uint32_t tid : tids) {
        for (std::uint32_t cpu_index = 0; cpu_index < cpus_.size() && opened.ok(); ++cpu_index) {
            opened = open_on(plan, {static_cast<std::int32_t>(tid), false, true}, cpu_index, false);
        }
    }
    next_fds_ = std::exchange(fds_, std::move(former));
    options_.kernel_unwinder = unwinder;
    if (!opened.ok()) {
        for (const OpenFd& open : std::exchange(next_fds_, {})) {
            ::close(open.fd);
        }
    }
    return opened;
}

Result<Done> EventSet::drop_unwinder(std::uint64_t now_ns) {
    KernelUnwinder* const unwinder = std::exchange(options_.kernel_unwinder, nullptr);
    const std::uint32_t user_stack_bytes = std::exchange(options_.user_stack_bytes, 0);
    if (options_.all_cpus) {
        auto done = reopen(std::nullopt, events_, now_ns);
        if (!done.ok()) {
            options_.kernel_unwinder = unwinder;
            options_.user_stack_bytes = user_stack_bytes;
        }
        return done;
    }
    std::vector<OpenFd> closing;
    std::ranges::copy_if(fds_, std::back_inserter(closing), [](const OpenFd& open) { return is_meant(open, {}); });
    std::erase_if(fds_, [](const OpenFd& open) { return is_meant(open, {}); });
    close_all(closing, now_ns);
    for (OpenEvent& event : events_) {
        if (event.spec.is_opened()) {
            choose_layout(event);
        }
    }
    for (const OpenFd& open : std::exchange(next_fds_, {})) {
        fds_.push_back(open);
        if (is_switch(open) && !events_[open.event_index].is_stopped) {
            ::ioctl(open.fd, PERF_EVENT_IOC_ENABLE, 0);
        }
    }
    index_ids();
    return Done{};
}

void EventSet::forget_closed(std::uint64_t taken_until_ns) {
    if (std::erase_if(closed_,
                      [&](const ClosedFd& closed) { return closed.closing_ns + kClosingNsMax < taken_until_ns; }) > 0) {
        index_ids();
    }
}

}  // namespace perfleet
