#include "tools/perfleet/record/counted_run.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <memory>
#include <string_view>

#include "daemon/option/option.h"
#include "target-collector/linux/command.h"
#include "target-collector/source/linux/event/event_parser.h"
#include "tools/perfleet/shell/command_stop.h"
#include "tools/perfleet/shell/watch.h"

namespace perfleet {
namespace {

// perf's default events; events that this machine can't count are shown as such.
constexpr const char* kEventsDefault =
    "task-clock,context-switches,cpu-migrations,page-faults,cycles,instructions,branches,branch-misses";

std::uint64_t ns_of(const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_usec) * 1'000U;
}

using Clock = std::chrono::steady_clock;

std::uint64_t ns_since(Clock::time_point start) {
    return static_cast<std::uint64_t>(std::chrono::nanoseconds{Clock::now() - start}.count());
}

// How to notice the end of a run.
struct RunEnd {
    int fd = -1;            // readable when it may have ended
    int stop_fd = -1;       // likewise
    bool must_poll = true;  // it may also end without becoming readable
    Clock::time_point deadline = Clock::time_point::max();
    std::function<std::optional<int>()> status;
};

// Calls `visit` at the end of each interval.
Result<int> wait_for(const RunEnd& end_of_run, Clock::time_point start, std::chrono::milliseconds interval,
                     const std::function<void()>& visit) {
    constexpr std::chrono::milliseconds kPollInterval{100};
    constexpr std::chrono::hours kWaitMax{1};
    Clock::time_point next = interval.count() != 0 ? start + interval : Clock::time_point::max();
    while (true) {
        if (const std::optional<int> status = end_of_run.status()) {
            return *status;
        }
        const auto now = Clock::now();
        if (now >= end_of_run.deadline) {
            return 0;
        }
        if (now >= next) {
            visit();
            next += interval * ((now - next) / interval + 1);
        }
        const auto wake =
            std::min({next, end_of_run.deadline, now + (end_of_run.must_poll ? kPollInterval : kWaitMax)});
        const auto wait = std::chrono::ceil<std::chrono::milliseconds>(std::max(wake, now) - now);
        std::array<pollfd, 2> ends{{{end_of_run.fd, POLLIN, 0}, {end_of_run.stop_fd, POLLIN, 0}}};
        if (::poll(ends.data(), ends.size(), static_cast<int>(wait.count())) < 0 && errno != EINTR) {
            return error_from_errno(errno, "poll");
        }
    }
}

}  // namespace

Result<CountedEvents> counted_events(const std::vector<std::string>& spellings) {
    // Events of perf that are times of each run anyway.
    constexpr std::array<std::string_view, 3> kTimes{"duration_time", "user_time", "system_time"};
    std::vector<std::string> lists;
    for (const std::string& spelling : spellings) {
        std::string list;
        for (const std::string& event : split_list(spelling)) {
            list += std::ranges::find(kTimes, event) != kTimes.end() ? "" : (list.empty() ? "" : ",") + event;
        }
        if (!list.empty()) {
            lists.push_back(std::move(list));
        }
    }
    if (lists.empty()) {
        lists.emplace_back(spellings.empty() ? kEventsDefault : "task-clock");
    }
    CountedEvents counted;
    counted.events = PERFLEET_TRY(parse_events(lists, {}));
    counted.warning = leave_out_kernel_where_forbidden(counted.events);
    return counted;
}

Result<CountedRun> run_counted(const std::vector<std::string>& words, std::span<const EventSpec> events,
                               const CountedScope& scope) {
    std::unique_ptr<Command> command;
    RunEnd end;
    std::optional<CommandStop> to_command;  // the counts up to then are shown
    if (words.empty()) {
        end.fd = catch_stop_signals();
        end.must_poll = !scope.pids.empty();
        end.status = [&] {
            pollfd stop{end.fd, POLLIN, 0};
            const bool is_over = ::poll(&stop, 1, 0) == 1 || (!scope.pids.empty() && !any_runs(scope.pids));
            return is_over ? std::optional{0} : std::nullopt;
        };
    } else {
        command = PERFLEET_TRY(Command::start(words));
        to_command.emplace(command.get());
        end.fd = command->end_fd();
        end.stop_fd = to_command->fd();
        end.must_poll = end.fd < 0;
        end.status = [&] {
            to_command->pass_on();
            end.must_poll = end.fd < 0 || to_command->signal() != 0;
            end.stop_fd = to_command->signal() != 0 ? -1 : to_command->fd();
            return command->exit_status();
        };
    }
    const bool is_of_program = !scope.all_cpus && scope.pids.empty();
    const auto counts =
        PERFLEET_TRY(EventCounts::open(events, {is_of_program ? command->pid() : -1, scope.pids, scope.all_cpus}));
    rusage before{};
    ::getrusage(RUSAGE_CHILDREN, &before);
    CountedRun run;
    for (std::size_t i = 0; i < events.size(); ++i) {
        run.refused.push_back(counts->refused(i));
    }
    const auto start = Clock::now();
    if (scope.duration) {
        end.deadline = start + *scope.duration;
    }
    const auto read = [&] {
        run.counts = counts->read();
        run.times_ns.front() = ns_since(start);
    };
    counts->enable();
    if (command != nullptr) {
        PERFLEET_TRY(command->run());
    }
    run.exit_status = PERFLEET_TRY(wait_for(end, start, std::chrono::milliseconds{scope.interval_ms}, [&] {
        read();
        scope.visit(run);
    }));
    run.signal = to_command ? to_command->signal() : 0;
    read();
    if (scope.interval_ms != 0) {
        scope.visit(run);
    }
    rusage after{};
    ::getrusage(RUSAGE_CHILDREN, &after);
    run.times_ns = {run.times_ns.front(), ns_of(after.ru_utime) - ns_of(before.ru_utime),
                    ns_of(after.ru_stime) - ns_of(before.ru_stime)};
    return run;
}

}  // namespace perfleet
