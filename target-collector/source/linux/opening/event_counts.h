// Totals of events without samples, as `perf stat` counts them: of a program from its exec on, with its threads and
// children; of processes that run; or of everything on this machine.
//
// A resource. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schemas/host/file_descriptor.h"
#include "schemas/vocabulary/error.h"
#include "target-collector/source/linux/event/event_spec.h"

namespace perfleet {

struct EventCount {
    std::uint64_t value = 0;
    std::uint64_t enabled_ns = 0;
    std::uint64_t running_ns = 0;  // less where counters were shared

    // What it would have been had it counted all the time; nothing where it never counted.
    [[nodiscard]] std::optional<double> scaled() const;
};

// Events of which this user may count the part in user space alone (perf_event_paranoid) count that, and have `:u` in
// their names, as perf does; those that only the kernel has stay as they are. Returns what the user should know of it;
// empty: there was none.
[[nodiscard]] std::string leave_out_kernel_where_forbidden(std::vector<EventSpec>& events);

class EventCounts {
public:
    struct Scope {
        std::int32_t waiting_pid = -1;    // counts from this process's exec on, and whatever it starts
        std::vector<std::uint32_t> pids;  // else these processes, with their threads and what they will start
        bool all_cpus = false;            // else everything
    };

    // An event that the kernel refuses is left out, with its error in refused(); those of other events don't matter.
    // Errors: kNotFound (pid), kPermission where nothing can be counted for want of rights, kFull (descriptors).
    [[nodiscard]] static Result<std::unique_ptr<EventCounts>> open(std::span<const EventSpec> events,
                                                                   const Scope& scope);
    EventCounts(const EventCounts&) = delete;
    EventCounts& operator=(const EventCounts&) = delete;

    // Those that wait for no exec.
    void enable();
    // Of each event, in the order of open(); nothing where the kernel refused it.
    [[nodiscard]] std::vector<std::optional<EventCount>> read() const;
    [[nodiscard]] const std::optional<Error>& refused(std::size_t event_index) const { return refused_[event_index]; }

private:
    struct OpenFd {
        FileDescriptor fd;
        std::size_t event_index = 0;
    };
    EventCounts() = default;

    std::vector<OpenFd> fds_;
    std::vector<std::optional<Error>> refused_;
    bool waits_for_exec_ = false;
};

}  // namespace perfleet
