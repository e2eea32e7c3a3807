#include "storage/dictionary/process_cgroups.h"

#include <algorithm>
#include <unordered_set>

namespace perfleet {

void ProcessCgroups::add(const DecodedRows& rows) {
    const auto as_u32 = [](std::uint64_t value) { return static_cast<std::uint32_t>(value); };
    const auto times = rows.integers(ColumnId::kTime);
    const auto ops = rows.integers(ColumnId::kTaskOp);
    const auto pids = rows.integers(ColumnId::kPid);
    const auto parent_pids = rows.integers(ColumnId::kParentPid);
    const auto strings = rows.integers(ColumnId::kString);
    for (std::size_t i = 0; i < rows.row_count(); ++i) {
        const auto op = static_cast<TaskOp>(ops[i]);
        if (op == TaskOp::kCgroup || (op == TaskOp::kFork && pids[i] != parent_pids[i])) {
            task_rows_.push_back(
                {Ticks{times[i]}, op, as_u32(pids[i]), as_u32(parent_pids[i]), StringNumber{as_u32(strings[i])}});
        }
    }
}

void ProcessCgroups::finish(const EpochDictionary& dictionary) {
    std::stable_sort(task_rows_.begin(), task_rows_.end(),
                     [](const TaskRow& a, const TaskRow& b) { return a.ticks < b.ticks; });
    std::unordered_set<std::uint32_t> seen;
    for (const TaskRow& row : task_rows_) {
        if (seen.insert(row.pid).second && row.op == TaskOp::kCgroup) {
            names_.rename(row.pid, Ticks{0}, names_.intern(dictionary.string(row.string)));
        }
    }
    for (const TaskRow& row : task_rows_) {
        if (row.op == TaskOp::kFork) {
            names_.rename(row.pid, row.ticks, names_.at(row.parent_pid, row.ticks).name);
        } else {
            names_.name_back(row.pid, row.ticks, names_.intern(dictionary.string(row.string)));
        }
    }
    task_rows_ = {};
}

}  // namespace perfleet
