// The threads that each CPU ran, from the rows of a timeline: from the kernel's switches (sched:sched_switch) if there
// are any, else from samples, each of which covers the time before it.
//
// Plain values, one thread. With switches, a thread runs from the switch that starts it to the one that ends it. If
// the two name different threads (rows were lost), the time between counts as unknown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "exporters/timeline/timeline.h"

namespace perfleet {

struct ScheduleThread {
    std::string command;
    std::uint32_t target = 0;  // of Schedule::targets
    std::uint32_t pid = 0;     // 0: unknown
    std::uint32_t tid = 0;
    std::uint64_t running_ns = 0;
    std::uint64_t run_count = 0;
    std::uint64_t longest_ns = 0;
    std::uint64_t preempted_count = 0;  // runs that ended while the thread was runnable
};

struct ScheduleSpan {
    static constexpr std::uint32_t kSeveral = ~0U;

    std::uint64_t begin_ns = 0;  // from Schedule::start
    std::uint64_t length_ns = 0;
    std::uint32_t thread = 0;       // kSeveral: short runs of several threads
    bool is_preempted = false;      // the thread was runnable when it ended
    std::uint32_t merged_runs = 1;  // runs drawn as this one
};

struct ScheduleLane {
    std::string name;  // "CPU 3", with the target's name in front where there are several
    std::uint64_t busy_ns = 0;
    std::uint64_t unknown_ns = 0;
    std::vector<ScheduleSpan> spans;  // ascending, disjoint
};

struct Schedule {
    UtcNs start;
    std::uint64_t duration_ns = 0;
    bool is_sampled = false;  // from samples instead of switches
    std::vector<std::string> targets;
    std::vector<ScheduleThread> threads;
    std::vector<ScheduleLane> lanes;  // by target, then CPU
    std::vector<std::string> warnings;

    [[nodiscard]] std::size_t span_count() const;
    [[nodiscard]] std::string thread_name(const ScheduleThread& thread) const;  // "work 4711/4712"
};

// The part of a timeline that a schedule is made from; all borrowed.
struct ScheduleRows {
    std::span<const std::string> targets;
    std::span<const TimelineEvent> events;
    std::span<const TimelineThread> threads;
    std::span<const TimelineRow> rows;  // ascending by time
    std::span<const TimelineSwitch> switches;
    UtcNs start;  // of the first row
};
[[nodiscard]] ScheduleRows schedule_rows(const Timeline& timeline);

[[nodiscard]] Schedule make_schedule(const ScheduleRows& rows);

// Merges neighbouring short runs of a lane until at most `span_count_max` spans are left; a warning gives the limit of
// their length. Sums of threads and lanes are unchanged.
void merge_short_spans(Schedule& schedule, std::size_t span_count_max);

}  // namespace perfleet
