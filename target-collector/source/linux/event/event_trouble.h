// Errors for events that the kernel didn't open; each says what to do.
#pragma once

#include <cstdint>
#include <string>

#include "schemas/vocabulary/error.h"
#include "target-collector/source/linux/event/event_spec.h"

namespace perfleet {

[[nodiscard]] std::string paranoid_text();

// How to give this program the rights to sample and count everything, as the end of a sentence.
[[nodiscard]] std::string way_to_rights();

[[nodiscard]] bool is_permission(int error);

[[nodiscard]] Error permission_error(const std::string& what);

// `wanted`: number of needed descriptors; 0: unknown.
[[nodiscard]] Error descriptors_error(std::uint64_t wanted);

[[nodiscard]] Error process_ended();

// `error`: the errno of perf_event_open().
[[nodiscard]] Error open_error(const EventSpec& event, int error);

// For a tracepoint's filter: the errno of PERF_EVENT_IOC_SET_FILTER.
[[nodiscard]] Error filter_error(const EventSpec& event, int error);

// True for events of PMUs that only sysfs describes: a bus, a socket, a core of another type.
[[nodiscard]] bool is_pmu_event(const EventSpec& event);

// For an event that the kernel accepts alone, but not in the group of `leader`.
[[nodiscard]] Error group_error(const EventSpec& leader, const EventSpec& event, int error);

}  // namespace perfleet
