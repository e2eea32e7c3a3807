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

}  // namespace perfleet
