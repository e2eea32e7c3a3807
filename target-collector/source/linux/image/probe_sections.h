// What the library of probes (probe/perfleet/probe.h) leaves in the ELF file of a program: the names of its probes, and
// where its door is.
//
// A small reader with a bound on everything, for it reads whatever programs a host runs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "target-collector/probe/perfleet/probe.h"
#include "target-collector/source/linux/image/read_file.h"

namespace perfleet {

// Of one file: names of an id may differ from source to source.
inline constexpr std::size_t kProbeEntriesMax = 256;

// Each PERFLEET_TRACE_NAME as it stands in the file, where anything may stand (probe_name_of()). None in any other
// file.
[[nodiscard]] std::vector<perfleet_probe_name> probe_entries_of(const ReadFile& read);

// Where a file has its perfleet_probe_door.
struct ProbeDoorPlace {
    std::uint64_t distance = 0;  // behind the begin of the code's mapping
    bool has_names = false;      // the file names probes: it isn't only linked with their library
};
// Of code that is mapped from `file_offset` of this file; empty: the file has none.
[[nodiscard]] std::optional<ProbeDoorPlace> probe_door_of(const ReadFile& read, std::uint64_t file_offset);

}  // namespace perfleet
