// Counters in a perf.data file, as `perf stat record` writes them and `perf stat report` shows them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "exporters/perf-data/record_writer.h"
#include "exporters/rows/event_table.h"
#include "query-engine/statistic/counter/counters.h"
#include "schemas/text/counter_unit.h"

namespace perfleet {

// Counts of one event, summed over sessions and threads.
struct CountedEvent {
    const ExportedEvent* event = nullptr;
    std::optional<CounterUnit> unit;  // the unit that perf shows
    CounterTotal::Count sum;
    std::map<std::uint64_t, CounterTotal::Count> by_cpu;  // empty: unknown
};

// Writes nothing without counters; by CPU if that is known for all. Other commands of perf skip these records.
void write_stat_records(PerfRecordWriter& writer, std::span<const CountedEvent> counted, std::uint64_t elapsed_ns);

}  // namespace perfleet
