#include "query-engine/statistic/thread_names.h"

#include <algorithm>
#include <array>

namespace perfleet {
namespace {

struct TaskRow {
    Ticks ticks;
    TaskOp op{};
    std::uint32_t tid = 0;
    std::uint32_t parent_pid = 0;
    std::uint32_t parent_tid = 0;
    StringNumber string;
};

bool names_threads(TaskOp op) {
    return op == TaskOp::kComm || op == TaskOp::kExec || op == TaskOp::kFork || op == TaskOp::kPresent;
}

std::uint32_t as_u32(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

}  // namespace

Result<ThreadNames> ThreadNames::read(const Scan& scan, std::size_t session_index, EpochNumber epoch,
                                      const EpochDictionary& dictionary) {
    constexpr std::array kWanted{ColumnId::kTime,      ColumnId::kTaskOp,    ColumnId::kTid,
                                 ColumnId::kParentPid, ColumnId::kParentTid, ColumnId::kString};
    std::vector<TaskRow> task_rows;
    const Result<Done> visited =
        scan.visit_rows(session_index, epoch, Series{Kind::kTask, kNoEvent}, kWanted, [&](const RowBlock& block) {
            const auto times = block.rows.integers(ColumnId::kTime);
            const auto ops = block.rows.integers(ColumnId::kTaskOp);
            const auto tids = block.rows.integers(ColumnId::kTid);
            const auto parent_pids = block.rows.integers(ColumnId::kParentPid);
            const auto parent_tids = block.rows.integers(ColumnId::kParentTid);
            const auto strings = block.rows.integers(ColumnId::kString);
            for (std::size_t i = 0; i < block.rows.row_count(); ++i) {
                const auto op = static_cast<TaskOp>(ops[i]);
                if (names_threads(op)) {
                    task_rows.push_back({op == TaskOp::kPresent ? Ticks{0} : Ticks{times[i]}, op, as_u32(tids[i]),
                                         as_u32(parent_pids[i]), as_u32(parent_tids[i]),
                                         StringNumber{as_u32(strings[i])}});
                }
            }
            return Visit::kContinue;
        });
    if (!visited.ok()) {
        return Error{visited.error()};
    }
    std::stable_sort(task_rows.begin(), task_rows.end(),
                     [](const TaskRow& a, const TaskRow& b) { return a.ticks < b.ticks; });

    ThreadNames names;
    names.rename(0, Ticks{0}, names.intern("swapper"));
    for (const TaskRow& row : task_rows) {
        if (row.op != TaskOp::kFork) {
            names.rename(row.tid, row.ticks, names.intern(dictionary.string(row.string)));
            continue;
        }
        std::uint32_t name = names.at(row.parent_tid, row.ticks).name;
        if (name == kNoName) {
            name = names.at(row.parent_pid, row.ticks).name;
        }
        names.rename(row.tid, row.ticks, name);
    }
    return names;
}

std::uint32_t ThreadNames::intern(std::string_view text) {
    const auto [entry, is_new] = numbers_.try_emplace(std::string{text}, static_cast<std::uint32_t>(texts_.size()));
    if (is_new) {
        texts_.emplace_back(text);
    }
    return entry->second;
}

void ThreadNames::rename(std::uint32_t tid, Ticks ticks, std::uint32_t name) {
    std::vector<Change>& changes = changes_[tid];
    if (!changes.empty() && changes.back().name == name) {
        return;
    }
    if (!changes.empty() && changes.back().ticks == ticks) {
        changes.back().name = name;
        return;
    }
    changes.push_back({ticks, name});
}

ThreadNames::Span ThreadNames::at(std::uint32_t tid, Ticks ticks) const {
    const auto thread = changes_.find(tid);
    if (thread == changes_.end()) {
        return {};
    }
    const std::vector<Change>& changes = thread->second;
    const auto after = std::upper_bound(changes.begin(), changes.end(), ticks,
                                        [](Ticks value, const Change& change) { return value < change.ticks; });
    Span span;
    if (after != changes.end()) {
        span.until = after->ticks;
    }
    if (after != changes.begin()) {
        span.name = (after - 1)->name;
        span.from = (after - 1)->ticks;
    }
    return span;
}

std::string ThreadNames::text(std::uint32_t name, std::uint32_t tid) const {
    if (name != kNoName) {
        return texts_[name];
    }
    return ":" + std::to_string(static_cast<std::int32_t>(tid));
}

}  // namespace perfleet
