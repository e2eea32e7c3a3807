#include "query-engine/statistic/kernel/kernel_log.h"

#include <array>

#include "query-engine/scan/row_cursor.h"
#include "query-engine/statistic/session/inventory.h"

namespace perfleet {

std::vector<KernelLog> find_kernel_logs(const Scan& scan, std::vector<std::string>& warnings) {
    std::vector<KernelLog> logs;
    for (const std::size_t index : sessions_by_start(scan)) {
        const ScannedSession& session = scan.sessions()[index];
        for (const Series& series : session.series) {
            if (series.kind != Kind::kKernelEntry || !scan.is_selected(index, series)) {
                continue;
            }
            KernelLog& log = logs.emplace_back();
            log.session_index = index;
            log.series = series;
            std::optional<sel4::LogDescription> description;
            if (const EventRecord* const event = session.record.event_at(series.event)) {
                log.event = event->name;
                log.unit = event->unit;
                description = sel4::parse_description(event->format);
            }
            if (!description || !description->architecture) {
                warnings.push_back(log_name(scan, log) +
                                   " doesn't say of which kernel it is: numbers are taken as of version 14.0.0, "
                                   "capability types have no names");
            }
            log.description = description.value_or(sel4::LogDescription{});
            if (!log.description.is_loss_known) {
                warnings.push_back(log_name(scan, log) +
                                   ": the log was full: later entries are lost, and their number is unknown");
            }
        }
    }
    if (!logs.empty() && scan.selection().from) {
        warnings.emplace_back("log ids count from the first entry of the time range");
    }
    return logs;
}

Result<Done> visit_entries(const Scan& scan, const KernelLog& log,
                           const std::function<Visit(const LoggedEntry&)>& visitor) {
    constexpr std::array kWanted{ColumnId::kTime, ColumnId::kDuration, ColumnId::kEntryPath, ColumnId::kEntryDetail};
    const sel4::PathNumbering numbering = log.description.numbering();
    std::uint64_t log_id = 0;
    RowCursor rows{scan, log.session_index, log.series, kWanted};
    while (const RowBlock* const block = rows.next()) {
        const auto times = block->rows.integers(ColumnId::kTime);
        for (std::size_t i = 0; i < times.size(); ++i, ++log_id) {
            const auto number = static_cast<std::uint8_t>(block->rows.integers(ColumnId::kEntryPath)[i]);
            if (visitor({log_id, times[i], block->rows.integers(ColumnId::kDuration)[i],
                         sel4::entry_path(numbering, number), block->rows.integers(ColumnId::kEntryDetail)[i]}) ==
                Visit::kStop) {
                return Done{};
            }
        }
    }
    return rows.status();
}

std::string syscall_text(const KernelLog& log, const LoggedEntry& entry) {
    const std::uint32_t number = sel4::syscall_detail(entry.detail).number;
    const std::string_view name = sel4::syscall_name(number, log.description.is_mcs);
    return name.empty() ? std::to_string(number) : std::string{name};
}

std::string cap_type_text(const KernelLog& log, const LoggedEntry& entry) {
    const std::uint32_t cap_type = sel4::syscall_detail(entry.detail).cap_type;
    const std::string_view name = log.description.architecture
                                      ? sel4::cap_type_name(cap_type, *log.description.architecture)
                                      : std::string_view{};
    return name.empty() ? std::to_string(cap_type) : std::string{name};
}

void add_identity(const Scan& scan, const KernelLog& log, RowMaker& row) {
    const SessionRecord& session = scan.sessions()[log.session_index].record;
    row.add("session", "", session_hex(session.session));
    row.add("target", "", session.target_name);
}

std::string log_name(const Scan& scan, const KernelLog& log) {
    const SessionId session = scan.sessions()[log.session_index].record.session;
    return "session " + session_hex(session).substr(0, 8) + " " + log.event;
}

}  // namespace perfleet
