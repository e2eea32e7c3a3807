// Data of the probe library (probe/perfleet/probe.h) in a program's ELF file: the names of its probes, and the address
// of its door, the switch for probes.
//
// A small parser with limits on everything, because it reads any program that a host runs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "target-collector/probe/perfleet/probe.h"
#include "target-collector/source/linux/image/read_file.h"

namespace perfleet {

// Of one file: source files may name an id differently.
inline constexpr std::size_t kProbeEntriesMax = 256;

// All PERFLEET_TRACE_NAME entries of the file, unchecked (probe_name_of()). None in other files.
[[nodiscard]] std::vector<perfleet_probe_name> probe_entries_of(const ReadFile& read);

// The place of perfleet_probe_door in a file.
struct ProbeDoorPlace {
    std::uint64_t distance = 0;  // from the start of the code's mapping
    bool has_names = false;      // the file names probes, and isn't only linked with their library
};
// For code mapped from `file_offset` of this file; empty: none.
[[nodiscard]] std::optional<ProbeDoorPlace> probe_door_of(const ReadFile& read, std::uint64_t file_offset);

}  // namespace perfleet
