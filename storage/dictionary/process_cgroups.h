// Which cgroup a process was in at a given time: from the task rows of one epoch.
//
// A forked process is in its parent's cgroup until a row says otherwise; the first row of a process also holds for the
// time before it. Built by one thread, then read by many.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "schemas/vocabulary/kinds.h"
#include "storage/dictionary/epoch_dictionary.h"
#include "storage/dictionary/timed_names.h"

namespace perfleet {

class ProcessCgroups {
public:
    static constexpr std::uint32_t kUnknown = TimedNames::kNoName;
    // The columns of task rows that add() needs.
    static constexpr std::array kColumns{ColumnId::kTime, ColumnId::kTaskOp, ColumnId::kPid, ColumnId::kParentPid,
                                         ColumnId::kString};

    // Adds task rows of the epoch, ascending by seq; kColumns are decoded.
    void add(const DecodedRows& rows);
    // Call it before the first at(). Borrows the dictionary until it returns.
    void finish(const EpochDictionary& dictionary);

    // The span's `name` is an index into paths(), or kUnknown.
    [[nodiscard]] TimedNames::Span at(std::uint32_t pid, Ticks ticks) const { return names_.at(pid, ticks); }
    [[nodiscard]] const std::vector<std::string>& paths() const { return names_.texts(); }

private:
    struct TaskRow {
        Ticks ticks;
        TaskOp op{};
        std::uint32_t pid = 0;
        std::uint32_t parent_pid = 0;
        StringNumber string;
    };

    std::vector<TaskRow> task_rows_;  // until finish()
    TimedNames names_;
};

}  // namespace perfleet
