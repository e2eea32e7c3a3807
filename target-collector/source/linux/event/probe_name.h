// Names that a program's file gives its probes (PERFLEET_TRACE_NAME): found before it runs, for events are named when a
// session begins. And the events of -e that are probes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "target-collector/probe/perfleet/probe.h"
#include "target-collector/source/linux/event/event_spec.h"
#include "target-collector/source/linux/image/image_reader.h"

namespace perfleet {

inline constexpr std::string_view kProbeSystem = "perfleet";
// Durations of probes whose name wasn't known when the session began.
inline constexpr std::string_view kOtherProbes = "other";

// Letters, digits and "_-.", at most PERFLEET_PROBE_NAME_SIZE - 1.
[[nodiscard]] bool is_probe_name(std::string_view name);

// As it stands in memory or a file, where anything may stand; a name that can't be one is empty.
[[nodiscard]] ProbeName probe_name_of(const perfleet_probe_name& entry_untrusted);

// Each name once, by their ids.
[[nodiscard]] std::vector<ProbeName> probe_names_of(std::span<const perfleet_probe_name> entries_untrusted);

// Of a program's file; none where it can't be read.
[[nodiscard]] std::vector<ProbeName> probe_names_of_file(const std::string& path, ImageReader& reader);

// Each name once, the first one that has it; kProbeNamesMax at most.
inline constexpr std::size_t kProbeNamesMax = 256;
void add_probe_names(std::vector<ProbeName>& into, std::span<const ProbeName> more);

// Of processes that run: all that they have mapped as code.
[[nodiscard]] std::vector<ProbeName> probe_names_of_processes(std::span<const std::uint32_t> pids, ImageReader& reader);

// The events of "perfleet:NAME", which may be a pattern: then of the names that are known, and one for all others.
// Errors: kUsage.
[[nodiscard]] Result<std::vector<EventSpec>> find_probes(std::string_view event, std::string_view name,
                                                         std::span<const ProbeName> known);

}  // namespace perfleet
