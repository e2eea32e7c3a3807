// The PMUs that the kernel describes in sysfs, their events and the terms that their events are made of:
//
//   NAME/type            perf_event_attr.type
//   NAME/format/TERM     "config:0-7,32-35": the bits that a term's value fills
//   NAME/events/ALIAS    "event=0x3c,umask=0x00": an event's name, and the terms that it stands for
//   NAME/events/ALIAS.scale, .unit      one count is so many of a unit
//   NAME/cpumask, NAME/cpus             the CPUs on which its events are opened; all where neither is there
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
    bool is_processor = false;        // counts for threads, too; false: a bus, a memory controller and the like
};

// By name; as perf, "uncore_imc" and "imc" also stand for uncore_imc_0, uncore_imc_1 …, and * and ? for any name.
[[nodiscard]] std::vector<Pmu> find_pmus(const EventPlaces& places, std::string_view pattern);

// Those that have an event of this name.
[[nodiscard]] std::vector<Pmu> find_pmus_with_event(const EventPlaces& places, std::string_view event_name);

[[nodiscard]] std::vector<std::string> pmu_names(const EventPlaces& places);

// Of one PMU, or of all: "cache-misses".
[[nodiscard]] std::vector<std::string> pmu_event_names(const EventPlaces& places, const std::string& pmu);
[[nodiscard]] std::vector<std::string> pmu_event_names(const EventPlaces& places);

// What stands between the slashes of `event`. Errors: kUsage with the terms and events that this PMU has, kInvalid
// where sysfs isn't as described.
[[nodiscard]] Result<EventSpec> make_pmu_event(const Pmu& pmu, std::string_view event, std::string_view terms);

// Why none of the PMUs is called so, and what to do.
[[nodiscard]] Error no_such_pmu(const EventPlaces& places, std::string_view event, std::string_view name);

// Why events of this PMU can't be had from anybody, though the kernel may have it; empty: they can.
[[nodiscard]] std::string pmu_trouble(std::string_view name);

}  // namespace perfleet
