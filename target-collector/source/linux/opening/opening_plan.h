// The descriptors to open for each thread on each CPU, in this order:
//
//   side-band · an event by itself · … · a group: its leader, its other events, a reader of the whole group · …
//
// A group is enabled and disabled by its leader alone: other members are always enabled and count while the leader
// does. So times enabled and running are equal in the group.
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
    kLeader,  // opens a group: later openings use its descriptor as group_fd
    kMember,
    kReader,
    kOutput,  // through which a BPF program emits samples, on a CPU; not planned
};

[[nodiscard]] constexpr bool joins_group(OpeningRole role) {
    return role == OpeningRole::kMember || role == OpeningRole::kReader;
}

struct Opening {
    perf_event_attr attr{};
    OpeningRole role = OpeningRole::kAlone;
    std::uint32_t event_index = 0;  // for a reader that of its leader; for the side-band kSideBandIndex
};
inline constexpr std::uint32_t kSideBandIndex = 0xffff'ffff;

// `options` apply to events; the side-band never waits for an exec.
[[nodiscard]] std::vector<Opening> plan_openings(std::span<const OpenEvent> events, const AttrOptions& options,
                                                 const PerfFeatures& features);

// The leader of this event's group; the event itself if it has none.
[[nodiscard]] std::uint32_t leader_of(std::span<const OpenEvent> events, std::uint32_t event_index);

// Number of openings for a thread and CPU.
[[nodiscard]] std::size_t opening_count(std::span<const OpenEvent> events);

}  // namespace perfleet
