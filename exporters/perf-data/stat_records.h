// Counters in a perf.data file, as `perf stat record` writes them and `perf stat report` shows them.
#pragma once

#include <cstdint>
#include <span>

#include "exporters/perf-data/event_table.h"
#include "exporters/perf-data/record_writer.h"

namespace perfleet {

// What an event has counted in all sessions, on all CPUs and of all threads.
struct CountedEvent {
    const ExportedEvent* event = nullptr;
    bool is_time = false;  // in ns, which perf shows as msec
    std::uint64_t value = 0;
    std::uint64_t enabled_ns = 0;
    std::uint64_t running_ns = 0;
};

// Nothing where there are none. Other commands of perf pass over these records.
void write_stat_records(PerfRecordWriter& writer, std::span<const CountedEvent> counted, std::uint64_t elapsed_ns);

}  // namespace perfleet
