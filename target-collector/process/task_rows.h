// Writes rows of kind `task`: events of threads and mappings, and losses of kernel records.
#pragma once

#include <cstdint>
#include <string>

#include "schemas/vocabulary/kinds.h"
#include "schemas/vocabulary/series.h"
#include "target-collector/message/row_sink.h"
#include "target-collector/process/epoch_definitions.h"
#include "target-collector/process/process_table.h"

namespace perfleet {

inline constexpr Series kTaskSeries{Kind::kTask, kNoEvent};

// One row; fields that a TaskOp doesn't use stay 0.
struct TaskRow {
    Ticks time;
    std::uint32_t cpu = 0;
    TaskOp op{};
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    std::uint32_t parent_pid = 0;
    std::uint32_t parent_tid = 0;
    StringNumber string{};
    ImageNumber image{};
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    std::uint64_t file_offset = 0;
    std::uint32_t protection = 0;  // PROT_*
    std::uint32_t flags = 0;       // MAP_*
    std::uint64_t value = 0;
};

// `value` of a kLost row when the event of the lost records is unknown.
inline constexpr std::uint64_t kLostEventUnknown = ~0ULL;

void append_task_row(RowSink& sink, const TaskRow& row);

// Write rows with the definitions that they need; `now` is the current time. `row` has time, cpu and thread of a
// mapping or a process's cgroup.
void append_mapping_row(RowSink& sink, EpochDefinitions& definitions, TaskRow row, const Mapping& mapping, Ticks now);
void append_cgroup_row(RowSink& sink, EpochDefinitions& definitions, TaskRow row, const std::string& cgroup, Ticks now);
// The initial rows of an epoch: all threads, and the mappings and cgroups of their processes.
void append_presence(RowSink& sink, EpochDefinitions& definitions, const ProcessTable& processes, Ticks now);

}  // namespace perfleet
