// Entries of a seL4 kernel's log as they are stored, with the meaning that their kernel's version gives them.
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

// By start of their sessions, then series; those that are selected. `warnings` gets a line for each that is full or
// doesn't say what its numbers mean.
[[nodiscard]] std::vector<KernelLog> find_kernel_logs(const Scan& scan, std::vector<std::string>& warnings);

// Its entries inside the time range, in the order in which they were logged. Errors: those of the store.
[[nodiscard]] Result<Done> visit_entries(const Scan& scan, const KernelLog& log,
                                         const std::function<Visit(const LoggedEntry&)>& visitor);

// "Call" and the like: the name, else the number.
[[nodiscard]] std::string syscall_text(const KernelLog& log, const LoggedEntry& entry);
[[nodiscard]] std::string cap_type_text(const KernelLog& log, const LoggedEntry& entry);

// What each row about it begins with: session and target.
void add_identity(const Scan& scan, const KernelLog& log, RowMaker& row);

// "session 0a1b2c3d event kernel_entries".
[[nodiscard]] std::string log_name(const Scan& scan, const KernelLog& log);

}  // namespace perfleet
