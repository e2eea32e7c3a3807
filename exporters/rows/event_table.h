// The events of an export: which attr and id the rows of each session's series get. One attr for each distinct event
// (name, type, config) over all sessions. Of a group in which one event has rows, all have an attr.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "exporters/rows/kernel_log_event.h"
#include "query-engine/scan/scan.h"

namespace perfleet {

inline constexpr std::uint32_t kAttrSizeBytes = 112;  // what perf 6.1 and all later ones read

struct ExportedEvent {
    std::string name;
    std::uint32_t type = 0;
    std::uint64_t config = 0;
    std::uint64_t period = 0;
    bool is_frequency = false;
    bool exclude_kernel = false;
    bool exclude_user = false;
    bool callchain = false;
    bool raw = false;                   // with a format: its fields are those of the row
    bool is_tracepoint = false;         // as recorded, with or without a format
    std::string format;                 // tracepoints: as tracefs gives it
    std::uint64_t id = 0;               // from 1: PERF_SAMPLE_IDENTIFIER of its samples
    std::int32_t clock_id = 1;          // CLOCK_MONOTONIC
    std::optional<KernelLogEvent> log;  // rows of a seL4 kernel's log, of which samples are made
    std::string recorded_attr;  // of an imported recording, which says more than the fields here; empty: made of them

    [[nodiscard]] std::uint64_t sample_type() const;
    [[nodiscard]] std::uint64_t read_format() const;    // of READ in its samples
    [[nodiscard]] bool has_branch_index() const;        // in its branch stacks
    [[nodiscard]] bool has_chains_of_branches() const;  // its branch stacks are call chains (--call-graph lbr)
    [[nodiscard]] std::string attr() const;             // as long as that of all events of the export
};

// Events that were counted all or none.
struct ExportedGroup {
    std::uint32_t leader_index = 0;  // in EventTable::events(); the others stand behind it
    std::uint32_t event_count = 0;
};

class EventTable {
public:
    // Of a seL4 kernel: entries, which are else no events, and tracepoints, which are else without fields.
    enum class KernelLogs : std::uint8_t { kAsStored, kAsTracepoints };

    // The sample and tracepoint series of the scan that have rows and are selected, and counters of events that have no
    // such rows. `warnings` gets a line for a
    // tracepoint whose format isn't known: its raw data can't be exported; and for events that aren't in the same group
    // in all sessions, or whose leader has no rows (`perf report` would show none of them): exported without one.
    // Of one session that was imported from a perf.data file, all events are there, with their attrs and the fields of
    // their samples as they were recorded.
    EventTable(const Scan& scan, std::vector<std::string>& warnings, KernelLogs logs = KernelLogs::kAsStored);

    [[nodiscard]] std::span<const ExportedEvent> events() const { return events_; }

    // Ascending.
    [[nodiscard]] std::span<const ExportedGroup> groups() const { return groups_; }

    // Says of all events that they leave out the kernel, unless their attrs were recorded.
    void exclude_kernel();

    // Of rows and counters of the session's event; nullptr: none are exported.
    [[nodiscard]] const ExportedEvent* find(std::size_t session_index, EventNumber event) const;

    // nullptr for a series that isn't exported. What was kept of records (Kind::kRecord) is exported with the attrs.
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
