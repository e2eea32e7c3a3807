// Turns the kernel's log into rows: kernel entries, or tracepoints, a bounded number at a time, with the losses.
//
// Freestanding; one thread.
#pragma once

#include <cstdint>

#include "schemas/vocabulary/ids.h"
#include "target-collector/message/row_sink.h"
#include "target-collector/source/sel4/log_follower.h"

namespace perfleet::sel4 {

// Ids from here on have no series: their rows are counted as malformed.
inline constexpr std::uint64_t kTracepointIdsMax = 8;

class LogSource {
public:
    // `first_event`: the event of kernel entries. Tracepoints have event_count() events: one for losses whose id is
    // unknown, then one for each id.
    LogSource(KernelInterface& kernel, EventNumber first_event);
    [[nodiscard]] static std::uint64_t event_count(const KernelFeatures& features);

    // Faults: as check_log_call().
    [[nodiscard]] Checked<Done> start() { return follower_.start(); }

    // Passes on at most `record_count_max` records of the kernel; returns how many. Tracepoints have no time: they get
    // the time at which they were found.
    std::uint64_t poll(std::uint64_t record_count_max, RowSink& sink);

    [[nodiscard]] bool has_more() const { return follower_.has_more(); }

    // Call it last, when has_more() is false: records that the kernel has logged since count as lost (unflushed).
    void finish(RowSink& sink);

    [[nodiscard]] const LogFollower::Counts& counts() const { return follower_.counts(); }

private:
    void pass_entries(std::span<const std::byte> records, RowSink& sink);
    void pass_tracepoints(std::span<const std::byte> records, RowSink& sink);
    void pass_losses(RowSink& sink);
    // The series of losses whose id is unknown.
    [[nodiscard]] Series first_series() const;

    KernelInterface& kernel_;
    EventNumber first_event_;
    LogFollower follower_;
    LogFollower::Counts passed_;  // losses already passed on
    // The missing upper bits of a 32-bit clock.
    std::uint64_t last_start_ = 0;
    std::uint64_t wrapped_ticks_ = 0;
};

}  // namespace perfleet::sel4
