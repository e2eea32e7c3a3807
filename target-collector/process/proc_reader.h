// Reads running processes from /proc: their threads, names and executable mappings.
//
// Everything may change or vanish while it is read; vanished entries are left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/time.h"

namespace perfleet {

struct ProcThread {
    std::uint32_t tid = 0;
    std::string name;
};

struct ProcMapping {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::uint64_t file_offset = 0;
    std::uint32_t protection = 0;  // PROT_*
    std::uint32_t flags = 0;       // MAP_SHARED or MAP_PRIVATE
    std::uint32_t device_major = 0;
    std::uint32_t device_minor = 0;
    std::uint64_t inode = 0;
    std::string path;  // empty: anonymous
};

// Process ids, ascending.
[[nodiscard]] std::vector<std::uint32_t> proc_pids();

// The user that owns a process.
[[nodiscard]] std::optional<std::uint32_t> proc_uid(std::uint32_t pid);

// The number of a process in the innermost of its pid namespaces; empty if it is gone.
[[nodiscard]] std::optional<std::uint32_t> proc_innermost_pid(std::uint32_t pid);

// The process of a thread.
[[nodiscard]] std::optional<std::uint32_t> proc_pid_of_thread(std::uint32_t tid);

// Start of the process, in ticks (_SC_CLK_TCK) since boot.
[[nodiscard]] std::optional<std::uint64_t> proc_start_ticks(std::uint32_t pid);
// The same by the clock of today, which may have been set since.
[[nodiscard]] std::optional<UtcNs> proc_start(std::uint32_t pid);

// Start address of the program's code; empty without permission.
[[nodiscard]] std::optional<std::uint64_t> proc_code_start(std::uint32_t pid);

// `pids` and all their current descendants, each once.
[[nodiscard]] std::vector<std::uint32_t> proc_with_descendants(const std::vector<std::uint32_t>& pids);

// Its threads, with their names.
[[nodiscard]] std::vector<ProcThread> proc_threads(std::uint32_t pid);

// Executable mappings, ascending; none for kernel threads and without permission.
[[nodiscard]] std::vector<ProcMapping> proc_mappings(std::uint32_t pid);

// The mapping that starts there, executable or not; empty if there is none.
[[nodiscard]] std::optional<ProcMapping> proc_mapping_at(std::uint32_t pid, std::uint64_t start);

// The parent's process id in the text of /proc/PID/stat; empty if there is none.
[[nodiscard]] std::optional<std::uint32_t> parent_in_stat(std::string_view text);

// The start time, in ticks, in the same text.
[[nodiscard]] std::optional<std::uint64_t> start_in_stat(std::string_view text);

// The innermost number in the text of /proc/PID/status; empty before Linux 4.1.
[[nodiscard]] std::optional<std::uint32_t> innermost_pid_in_status(std::string_view text);

// One line of /proc/PID/maps; empty if it is malformed.
[[nodiscard]] std::optional<ProcMapping> parse_maps_line(std::string_view line);

}  // namespace perfleet
