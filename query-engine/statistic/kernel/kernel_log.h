// Reads stored entries of a seL4 kernel's log; their numbers are interpreted by the kernel's version.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "query-engine/scan/scan.h"
#include "query-engine/statistic/answer/answer_row.h"
#include "schemas/sel4/log_description.h"

namespace perfleet {

// A series of kernel entries.
struct KernelLog {
    std::size_t session_index = 0;
    Series series;
    std::string event;
    std::string unit;
    sel4::LogDescription description;
};

struct LoggedEntry {
    std::uint64_t log_id = 0;  // place in the log, from 0
    std::uint64_t start_ticks = 0;
    std::uint64_t duration_ticks = 0;
    sel4::EntryPath path{};
    std::uint64_t detail = 0;
};

// The selected logs, by start of their sessions, then series. `warnings` gets a line for each log that is full or
// doesn't define its numbers.
[[nodiscard]] std::vector<KernelLog> find_kernel_logs(const Scan& scan, std::vector<std::string>& warnings);

// The log's entries in the time range, in the order in which they were logged. Errors: those of the store.
[[nodiscard]] Result<Done> visit_entries(const Scan& scan, const KernelLog& log,
                                         const std::function<Visit(const LoggedEntry&)>& visitor);

// "Call" and the like: the name if known, else the number.
[[nodiscard]] std::string syscall_text(const KernelLog& log, const LoggedEntry& entry);
[[nodiscard]] std::string cap_type_text(const KernelLog& log, const LoggedEntry& entry);

// Adds the first columns of a row: session and target.
void add_identity(const Scan& scan, const KernelLog& log, RowMaker& row);

// "session 0a1b2c3d event kernel_entries".
[[nodiscard]] std::string log_name(const Scan& scan, const KernelLog& log);

}  // namespace perfleet
