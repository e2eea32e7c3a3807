// Every selected sample and tracepoint entry with its time, thread and call chain, in order of time: the input of
// formats that keep time (speedscope, Firefox Profiler, Perfetto).
//
// Names are those of `top`, and so are the counts by (event, command, image, symbol). Frames of one symbol are one
// frame. Everything is in memory, which the query's limit bounds. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "query-engine/scan/scan.h"
#include "query-engine/service/query.h"
#include "query-engine/symbol/symbolizer.h"
#include "storage/number/flat_table.h"

namespace perfleet {

struct TimelineFrame {
    std::string symbol;  // as `top` shows it
    std::string image;
    bool is_kernel = false;
    friend auto operator<=>(const TimelineFrame&, const TimelineFrame&) = default;
};

// Source of an interpreter's function; borrows from the frame. Nothing for functions of programs.
[[nodiscard]] std::optional<SourceInName> source_of(const TimelineFrame& frame);

// A frame with all its callers.
struct TimelineNode {
    std::uint32_t caller = 0;  // less than this node's number; 0: none, nodes()[0] stands for no frame
    std::uint32_t frame = 0;
};

// A thread under one name.
struct TimelineThread {
    std::uint32_t target = 0;  // of targets()
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    std::string command;
    friend auto operator<=>(const TimelineThread&, const TimelineThread&) = default;
};

struct TimelineEvent {
    std::string name;
    std::string unit;  // of its rows' amounts: the measure's
    bool is_amount = true;

    [[nodiscard]] bool has_time() const { return is_amount && unit == "ns"; }
};

struct TimelineRow {
    std::uint64_t time_ns = 0;  // of the export's clock
    std::int64_t amount = 0;    // in the event's unit
    std::uint32_t event = 0;
    std::uint32_t thread = 0;
    std::uint32_t node = 0;  // the innermost frame
    std::uint32_t cpu = 0;
};

// A tracepoint's fields as text, as `perf script` prints them.
struct TimelineEntry {
    std::size_t row = 0;
    std::string text;
};

// The CPU switches from the row's thread to another one (sched:sched_switch).
struct TimelineSwitch {
    std::size_t row = 0;
    // If the thread ends here, its row has no id any more.
    std::uint32_t previous_tid = 0;
    std::int64_t previous_state = 0;  // as the kernel numbers them
    std::int32_t previous_priority = 0;
    std::int32_t next_priority = 0;
    std::uint32_t next_tid = 0;
    std::string previous_command;
    std::string next_command;
};

// The readings of one counter, which are counts since the session's start.
struct TimelineCounter {
    std::string name;  // "cycles cpu 3", "cycles pid 42 cpu 3", with the target's name in front where there are several
    std::string unit;
    struct Reading {
        std::uint64_t time_ns = 0;
        std::uint64_t value = 0;
        friend auto operator<=>(const Reading&, const Reading&) = default;
    };
    std::vector<Reading> readings;  // ascending
};

class Timeline {
public:
    // Errors: kTooLarge when the query's memory is exceeded; those of the store. Without rows it is empty, and a
    // warning says so.
    [[nodiscard]] static Result<std::unique_ptr<Timeline>> read(const Scan& scan, Symbolizer& symbolizer);

    // Rows and switches alone: all nodes are 0, there are no entries and no counters, and no symbols are read.
    [[nodiscard]] static Result<std::unique_ptr<Timeline>> read_threads(const Scan& scan);

    [[nodiscard]] const std::vector<std::string>& targets() const { return targets_; }
    [[nodiscard]] const std::vector<TimelineEvent>& events() const { return events_; }
    [[nodiscard]] const std::vector<TimelineThread>& threads() const { return threads_; }
    [[nodiscard]] const std::vector<TimelineFrame>& frames() const { return frames_; }
    [[nodiscard]] const std::vector<TimelineNode>& nodes() const { return nodes_; }
    [[nodiscard]] const std::vector<TimelineRow>& rows() const { return rows_; }
    [[nodiscard]] const std::vector<TimelineEntry>& entries() const { return entries_; }     // ascending by row
    [[nodiscard]] const std::vector<TimelineSwitch>& switches() const { return switches_; }  // as entries
    [[nodiscard]] const std::vector<TimelineCounter>& counters() const { return counters_; }

    // Rows of one event and thread, in the order of time: the series of the formats that have one for each.
    struct Track {
        std::uint32_t event = 0;
        std::uint32_t thread = 0;
        std::vector<std::uint32_t> rows;
    };
    [[nodiscard]] std::vector<Track> tracks() const;
    // "work 4711/4712", with the target's name in front where there are several.
    [[nodiscard]] std::string thread_name(std::uint32_t thread) const;

    [[nodiscard]] std::uint64_t first_ns() const { return rows_.empty() ? 0 : rows_.front().time_ns; }  // of rows
    [[nodiscard]] std::uint64_t last_ns() const { return rows_.empty() ? 0 : rows_.back().time_ns; }
    [[nodiscard]] UtcNs first_utc() const { return first_utc_; }

    // With the ledger and the warnings of what was read.
    [[nodiscard]] QueryEnd outcome() const;

private:
    class Reader;

    std::vector<std::string> targets_;
    std::vector<TimelineEvent> events_;
    std::vector<TimelineThread> threads_;
    std::vector<TimelineFrame> frames_;
    std::vector<TimelineNode> nodes_{{}};
    std::vector<TimelineRow> rows_;
    std::vector<TimelineEntry> entries_;
    std::vector<TimelineSwitch> switches_;
    std::vector<TimelineCounter> counters_;
    UtcNs first_utc_;
    Ledger ledger_;
    std::vector<std::string> warnings_;
};

}  // namespace perfleet
