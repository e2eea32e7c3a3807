// Names that a program's file gives its probes (PERFLEET_TRACE_NAME): found before it runs, for events are named when a
// session begins. And the events of -e that are probes.
//
// A small reader of ELF files with a bound on everything, for it reads whatever a user runs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "target-collector/probe/perfleet/probe.h"
#include "target-collector/source/linux/event_spec.h"

namespace perfleet {

inline constexpr std::string_view kProbeSystem = "perfleet";
// Durations of probes whose name wasn't known when the session began.
inline constexpr std::string_view kOtherProbes = "other";

// Letters, digits and "_-.", at most PERFLEET_PROBE_NAME_SIZE - 1.
[[nodiscard]] bool is_probe_name(std::string_view name);

// As it stands in memory or a file, where anything may stand; a name that can't be one is empty.
[[nodiscard]] ProbeName probe_name_of(const perfleet_probe_name& entry_untrusted);

// Of an ELF file in memory; none in any other. Each name once.
[[nodiscard]] std::vector<ProbeName> probe_names_in(std::span<const std::byte> elf_untrusted);

// Of a program's file; none where it can't be read.
[[nodiscard]] std::vector<ProbeName> probe_names_of_file(const std::string& path);

// The events of "perfleet:NAME", which may be a pattern: then of the names that are known, and one for all others.
// Errors: kUsage.
[[nodiscard]] Result<std::vector<EventSpec>> find_probes(std::string_view event, std::string_view name,
                                                         std::span<const ProbeName> known);

}  // namespace perfleet
