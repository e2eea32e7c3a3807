// Names of probes in a program's file (PERFLEET_TRACE_NAME): read before it runs, because a session's events are named
// at its beginning. Also the events of -e that are probes.
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
// The event for probes whose name wasn't known at the session's beginning.
inline constexpr std::string_view kOtherProbes = "other";

// Letters, digits and "_-.", at most PERFLEET_PROBE_NAME_SIZE - 1.
[[nodiscard]] bool is_probe_name(std::string_view name);

// The name of an entry in untrusted memory or file; empty if it isn't valid.
[[nodiscard]] ProbeName probe_name_of(const perfleet_probe_name& entry_untrusted);

// Each name once, by their ids.
[[nodiscard]] std::vector<ProbeName> probe_names_of(std::span<const perfleet_probe_name> entries_untrusted);

// Of a program's file; none if it can't be read.
[[nodiscard]] std::vector<ProbeName> probe_names_of_file(const std::string& path, ImageReader& reader);

// Adds names, each once with its first id; at most kProbeNamesMax.
inline constexpr std::size_t kProbeNamesMax = 256;
void add_probe_names(std::vector<ProbeName>& into, std::span<const ProbeName> more);

// Of running processes: of all files that they have mapped as code.
[[nodiscard]] std::vector<ProbeName> probe_names_of_processes(std::span<const std::uint32_t> pids, ImageReader& reader);

// The events of "perfleet:NAME". A pattern gives the known names that match, and one event for all others. Errors:
// kUsage.
[[nodiscard]] Result<std::vector<EventSpec>> find_probes(std::string_view event, std::string_view name,
                                                         std::span<const ProbeName> known);

}  // namespace perfleet
