// Counts events without samples, as `perf stat` does: of a program from its exec on, with threads and children; of
// running processes; or of the whole machine.
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
#include "schemas/vocabulary/non_copyable.h"
#include "target-collector/source/linux/event/event_spec.h"

namespace perfleet {

struct EventCount {
    std::uint64_t value = 0;
    std::uint64_t enabled_ns = 0;
    std::uint64_t running_ns = 0;  // less if counters were shared

    // Estimate for counting all the time; nothing if it never counted.
    [[nodiscard]] std::optional<double> scaled() const;
};

// Restricts events to user space if this user may only count that (perf_event_paranoid), and adds `:u` to their names,
// as perf does; kernel-only events stay unchanged. Returns a warning for the user; empty: nothing changed.
[[nodiscard]] std::string leave_out_kernel_where_forbidden(std::vector<EventSpec>& events);

class EventCounts : NonCopyable {
public:
    struct Scope {
        std::int32_t waiting_pid = -1;    // counts from this process's exec on, with its children
        std::vector<std::uint32_t> pids;  // else these processes, with their threads and future children
        bool all_cpus = false;            // else everything
    };

    // Events that the kernel refuses are omitted, with the error in refused(). Errors: kNotFound (pid), kPermission if
    // nothing may be counted, kFull (descriptors).
    [[nodiscard]] static Result<std::unique_ptr<EventCounts>> open(std::span<const EventSpec> events,
                                                                   const Scope& scope);

    // Enables events that don't wait for an exec.
    void enable();
    // Counts in the order of open(); nothing for refused events.
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
