// What is opened for each thread on each CPU, and in which order.
//
//   side-band · an event by itself · … · a group: its leader, its other events, a reader of the whole group · …
//
// A group is switched on and off by its leader alone: all others are enabled from the beginning, and count while it
// does. So times enabled and running are the same for all of them.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <span>
#include <vector>

#include "target-collector/records/record_layout.h"
#include "target-collector/source/linux/event/event_spec.h"
#include "target-collector/source/linux/event/perf_attr.h"

namespace perfleet {

// An event as it was opened.
struct OpenEvent {
    EventSpec spec;
    SamplingRate rate;
    RecordLayout layout;
    bool is_stopped = false;
};

enum class OpeningRole : std::uint8_t {
    kSideBand,
    kAlone,
    kLeader,  // opens a group: the openings behind it get its descriptor as group_fd
    kMember,
    kReader,
    kOutput,  // what a BPF program emits an event's samples through, on a CPU; in no plan
};

[[nodiscard]] constexpr bool joins_group(OpeningRole role) {
    return role == OpeningRole::kMember || role == OpeningRole::kReader;
}

struct Opening {
    perf_event_attr attr{};
    OpeningRole role = OpeningRole::kAlone;
    std::uint32_t event_index = 0;  // of a reader that of its leader; of the side-band kSideBandIndex
};
inline constexpr std::uint32_t kSideBandIndex = 0xffff'ffff;

// `options` are those of events; the side-band never waits for an exec.
[[nodiscard]] std::vector<Opening> plan_openings(std::span<const OpenEvent> events, const AttrOptions& options,
                                                 const PerfFeatures& features);

// Of the group that this event is in; itself when it is in none.
[[nodiscard]] std::uint32_t leader_of(std::span<const OpenEvent> events, std::uint32_t event_index);

// How many of them a thread and CPU need.
[[nodiscard]] std::size_t opening_count(std::span<const OpenEvent> events);

}  // namespace perfleet
