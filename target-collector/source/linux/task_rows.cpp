#include "target-collector/source/linux/task_rows.h"

#include <array>

namespace perfleet {

void append_task_row(RowSink& sink, const TaskRow& row) {
    const std::array<std::uint64_t, 13> integers{row.cpu,          static_cast<std::uint64_t>(row.op),
                                                 row.pid,          row.tid,
                                                 row.parent_pid,   row.parent_tid,
                                                 row.string.value, row.image.value,
                                                 row.address,      row.size,
                                                 row.file_offset,  (std::uint64_t{row.flags} << 32U) | row.protection,
                                                 row.value};
    sink.append({kTaskSeries, row.time, integers});
}

}  // namespace perfleet
