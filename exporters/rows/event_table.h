// The events of an export, with the attr and id for the rows of each session's series. Each distinct event (name, type,
// config) over all sessions has one attr. If one event of a group has rows, all its events have an attr.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exporters/rows/kernel_log_event.h"
#include "query-engine/scan/scan.h"

namespace perfleet {

inline constexpr std::uint32_t kAttrSizeBytes = 112;  // as perf 6.1 and later versions read

struct ExportedEvent {
    std::string name;
    std::uint32_t type = 0;
    std::uint64_t config = 0;
    std::uint64_t period = 0;
    bool is_frequency = false;
    bool exclude_kernel = false;
    bool exclude_user = false;
    bool callchain = false;
    bool raw = false;                   // with a format: raw data are the fields of the row
    bool counts_threads = false;        // recorded with --stat: its counter rows are READ records
    bool is_tracepoint = false;         // as recorded, with or without a format
    std::string format;                 // tracepoints: as tracefs gives it
    std::uint64_t id = 0;               // from 1: PERF_SAMPLE_IDENTIFIER of its samples
    std::int32_t clock_id = 1;          // CLOCK_MONOTONIC
    std::optional<KernelLogEvent> log;  // for rows of a seL4 kernel's log, which become samples
    std::string recorded_attr;          // of an imported recording, replaces the fields here; empty: none

    [[nodiscard]] std::uint64_t sample_type() const;
    [[nodiscard]] std::uint64_t read_format() const;    // of READ in its samples
    [[nodiscard]] bool has_branch_index() const;        // in its branch stacks
    [[nodiscard]] bool has_chains_of_branches() const;  // its branch stacks are call chains (--call-graph lbr)
    [[nodiscard]] std::string attr() const;             // as long as the attrs of all events of the export
    // As perf had it: perf distinguishes imported events of one name by their ids.
    [[nodiscard]] std::string_view recorded_name() const;
};

// Events that were counted as a group.
struct ExportedGroup {
    std::uint32_t leader_index = 0;  // in EventTable::events(); the other members follow
    std::uint32_t event_count = 0;
};

class EventTable {
public:
    // Rows of a seL4 kernel: entries, which otherwise are no events, and tracepoints, which otherwise have no fields.
    enum class KernelLogs : std::uint8_t { kAsStored, kAsTracepoints };

    // The selected sample and tracepoint series that have rows, and counters of events without such rows. `warnings`
    // gets a line for each tracepoint whose format is unknown: its raw data can't be exported. It also gets one for
    // events that aren't in the same group in all sessions, or whose leader has no rows (`perf report` would show none
    // of them): these are exported without a group. For a single session imported from a perf.data file, all events are
    // exported with their recorded attrs and sample fields.
    EventTable(const Scan& scan, std::vector<std::string>& warnings, KernelLogs logs = KernelLogs::kAsStored);

    [[nodiscard]] std::span<const ExportedEvent> events() const { return events_; }

    // Ascending.
    [[nodiscard]] std::span<const ExportedGroup> groups() const { return groups_; }

    // Marks all events as excluding the kernel, except those with recorded attrs.
    void exclude_kernel();

    // The event for rows and counters of the session's event; nullptr: not exported.
    [[nodiscard]] const ExportedEvent* find(std::size_t session_index, EventNumber event) const;

    // nullptr for a series that isn't exported.
    [[nodiscard]] const ExportedEvent* find(std::size_t session_index, Series series) const;

private:
    void add(std::size_t session_index, const SessionRecord& session, Series series,
             std::vector<std::string>& warnings);

    void find_groups(const Scan& scan, std::vector<std::string>& warnings);
    void take_as_log(ExportedEvent& event, const EventRecord& record, Series series) const;
    [[nodiscard]] bool has_rows(const Scan& scan, std::size_t event_index) const;

    struct Entry {
        std::size_t session_index;
        Series series;
        std::size_t event_index;
    };
    std::vector<ExportedEvent> events_;
    std::vector<Entry> entries_;
    std::vector<ExportedGroup> groups_;
    KernelLogs logs_;
    bool keeps_attrs_ = false;
};

}  // namespace perfleet
