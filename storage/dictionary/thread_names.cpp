#include "storage/dictionary/thread_names.h"

#include <algorithm>

namespace perfleet {
namespace {

bool names_threads(TaskOp op) {
    return op == TaskOp::kComm || op == TaskOp::kExec || op == TaskOp::kFork || op == TaskOp::kPresent;
}

std::uint32_t as_u32(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

}  // namespace

void ThreadNames::add(const DecodedRows& rows) {
    const auto times = rows.integers(ColumnId::kTime);
    const auto ops = rows.integers(ColumnId::kTaskOp);
    const auto tids = rows.integers(ColumnId::kTid);
    const auto parent_pids = rows.integers(ColumnId::kParentPid);
    const auto parent_tids = rows.integers(ColumnId::kParentTid);
    const auto strings = rows.integers(ColumnId::kString);
    for (std::size_t i = 0; i < rows.row_count(); ++i) {
        const auto op = static_cast<TaskOp>(ops[i]);
        if (names_threads(op)) {
            task_rows_.push_back({op == TaskOp::kPresent ? Ticks{0} : Ticks{times[i]}, op, as_u32(tids[i]),
                                  as_u32(parent_pids[i]), as_u32(parent_tids[i]), StringNumber{as_u32(strings[i])}});
        }
    }
}

void ThreadNames::finish(const EpochDictionary& dictionary) {
    std::stable_sort(task_rows_.begin(), task_rows_.end(),
                     [](const TaskRow& a, const TaskRow& b) { return a.ticks < b.ticks; });
    names_.rename(0, Ticks{0}, names_.intern("swapper"));
    for (const TaskRow& row : task_rows_) {
        if (row.op != TaskOp::kFork) {
            names_.rename(row.tid, row.ticks, names_.intern(dictionary.string(row.string)));
            continue;
        }
        std::uint32_t name = at(row.parent_tid, row.ticks).name;
        if (name == kNoName) {
            name = at(row.parent_pid, row.ticks).name;
        }
        names_.rename(row.tid, row.ticks, name);
    }
    task_rows_ = {};
}

std::string ThreadNames::text(std::uint32_t name, std::uint32_t tid) const {
    if (name != kNoName) {
        return names_.texts()[name];
    }
    return ":" + std::to_string(static_cast<std::int32_t>(tid));
}

}  // namespace perfleet
