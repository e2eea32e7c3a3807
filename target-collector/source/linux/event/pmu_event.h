// The PMUs in sysfs, with their events and the terms of these:
//
//   NAME/type            perf_event_attr.type
//   NAME/format/TERM     "config:0-7,32-35": the bits that a term's value fills
//   NAME/events/ALIAS    "event=0x3c,umask=0x00": an event's name, and the terms that it stands for
//   NAME/events/ALIAS.scale, .unit      value of one count, in a unit
//   NAME/cpumask, NAME/cpus             the CPUs on which its events are opened; all if neither exists
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "target-collector/source/linux/event/event_spec.h"

namespace perfleet {

struct Pmu {
    std::string name;
    std::string folder;
    std::uint32_t type = 0;
    std::vector<std::uint32_t> cpus;  // empty: all
    bool is_processor = false;        // counts for threads; false: a bus, a memory controller and the like
};

// By name; as in perf, "uncore_imc" and "imc" also match uncore_imc_0, uncore_imc_1 …, and * and ? are wildcards.
[[nodiscard]] std::vector<Pmu> find_pmus(const EventPlaces& places, std::string_view pattern);

// Those that have an event of this name.
[[nodiscard]] std::vector<Pmu> find_pmus_with_event(const EventPlaces& places, std::string_view event_name);

[[nodiscard]] std::vector<std::string> pmu_names(const EventPlaces& places);

// Names of events, such as "cache-misses", of one PMU or of all.
[[nodiscard]] std::vector<std::string> pmu_event_names(const EventPlaces& places, const std::string& pmu);
[[nodiscard]] std::vector<std::string> pmu_event_names(const EventPlaces& places);

// The event with the terms between its slashes. Errors: kUsage with this PMU's terms and events, kInvalid if sysfs is
// malformed.
[[nodiscard]] Result<EventSpec> make_pmu_event(const Pmu& pmu, std::string_view event, std::string_view terms);

// The error for an unknown PMU, with what to do.
[[nodiscard]] Error no_such_pmu(const EventPlaces& places, std::string_view event, std::string_view name);

// Why this PMU's events are never supported, even if the kernel has it; empty: supported.
[[nodiscard]] std::string pmu_trouble(std::string_view name);

}  // namespace perfleet
