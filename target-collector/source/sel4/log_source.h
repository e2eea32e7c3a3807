// The kernel's log as rows: kernel entries, or tracepoints, a bounded number at a time, with what was lost.
//
// Freestanding; one thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "schemas/vocabulary/ids.h"
#include "target-collector/message/row_sink.h"
#include "target-collector/source/sel4/log_follower.h"

namespace perfleet::sel4 {

// Ids from here on have no series of their own: their rows are counted as malformed.
inline constexpr std::uint64_t kTracepointIdsMax = 8;

class LogSource {
public:
    // Rows are of event `first_event`; of tracepoints there are event_count(): what is lost before its id is known,
    // then one for each id.
    LogSource(KernelInterface& kernel, EventNumber first_event);
    [[nodiscard]] static std::uint64_t event_count(const KernelFeatures& features);

    // Faults: as check_log_call().
    [[nodiscard]] Checked<Done> start() { return follower_.start(); }

    // Passes on what the kernel has logged, at most so many records; returns how many. Tracepoints, which have no time,
    // are given that at which they were found.
    std::uint64_t poll(std::uint64_t record_count_max, RowSink& sink);

    [[nodiscard]] bool has_more() const { return follower_.has_more(); }

    // At the end, once has_more() is false: what the kernel has logged since, by its own index, is lost as unflushed.
    void finish(RowSink& sink);

    [[nodiscard]] const LogFollower::Counts& counts() const { return follower_.counts(); }

private:
    void pass_entries(std::span<const std::byte> records, RowSink& sink);
    void pass_tracepoints(std::span<const std::byte> records, RowSink& sink);
    void pass_losses(RowSink& sink);
    // Of what is lost before more is known of it.
    [[nodiscard]] Series first_series() const;

    KernelInterface& kernel_;
    EventNumber first_event_;
    LogFollower follower_;
    LogFollower::Counts passed_;  // of what was lost
    // What a clock of 32 bits lacks.
    std::uint64_t last_start_ = 0;
    std::uint64_t wrapped_ticks_ = 0;
};

}  // namespace perfleet::sel4
