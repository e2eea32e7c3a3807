#include "target-collector/process/task_rows.h"

#include "schemas/vocabulary/named_row.h"

namespace perfleet {

void append_task_row(RowSink& sink, const TaskRow& row) {
    using enum ColumnId;
    const auto integers = row_of<Kind::kTask>(
        column<kCpu>(row.cpu), column<kTaskOp>(static_cast<std::uint64_t>(row.op)), column<kPid>(row.pid),
        column<kTid>(row.tid), column<kParentPid>(row.parent_pid), column<kParentTid>(row.parent_tid),
        column<kString>(row.string.value), column<kImage>(row.image.value), column<kAddress>(row.address),
        column<kSize>(row.size), column<kFileOffset>(row.file_offset),
        column<kProtection>((std::uint64_t{row.flags} << 32U) | row.protection), column<kValue>(row.value));
    sink.append({kTaskSeries, row.time, integers});
}

void append_mapping_row(RowSink& sink, EpochDefinitions& definitions, TaskRow row, const Mapping& mapping, Ticks now) {
    row.op = TaskOp::kMap;
    row.image = definitions.image(mapping.image, now);
    row.address = mapping.start;
    row.size = mapping.end - mapping.start;
    row.file_offset = mapping.file_offset;
    row.protection = mapping.protection;
    row.flags = mapping.flags;
    append_task_row(sink, row);
}

void append_cgroup_row(RowSink& sink, EpochDefinitions& definitions, TaskRow row, const std::string& cgroup,
                       Ticks now) {
    row.op = TaskOp::kCgroup;
    row.string = definitions.string(cgroup, now);
    append_task_row(sink, row);
}

void append_presence(RowSink& sink, EpochDefinitions& definitions, const ProcessTable& processes, Ticks now) {
    processes.each_thread([&](std::uint32_t tid, const Thread& thread) {
        const StringNumber name = definitions.string(thread.name, now);
        TaskRow row{.time = now, .op = TaskOp::kPresent, .pid = thread.pid, .tid = tid, .string = name};
        append_task_row(sink, row);
        if (!thread.namespaces.empty()) {
            row.op = TaskOp::kNamespaces;
            row.string = definitions.string(thread.namespaces, now);
            append_task_row(sink, row);
        }
    });
    processes.each_process([&](const Process& process) {
        const TaskRow row{.time = now, .pid = process.pid, .tid = process.pid};
        for (const Mapping& mapping : process.mappings->mappings()) {
            append_mapping_row(sink, definitions, row, mapping, now);
        }
        if (process.cgroup != nullptr) {
            append_cgroup_row(sink, definitions, row, *process.cgroup, now);
        }
    });
}

}  // namespace perfleet
