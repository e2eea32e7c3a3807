// Which cgroup a process was in at a moment: from the task rows of one epoch.
//
// A forked process is in its parent's until a row tells another one; the first row of a process holds from before.
// Built by one thread, then read by many.
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
    // Of task rows.
    static constexpr std::array kColumns{ColumnId::kTime, ColumnId::kTaskOp, ColumnId::kPid, ColumnId::kParentPid,
                                         ColumnId::kString};

    // Task rows of the epoch, ascending by seq; kColumns have been decoded.
    void add(const DecodedRows& rows);
    // Before the first question. Borrows the dictionary until it returns.
    void finish(const EpochDictionary& dictionary);

    // `name` of the span: index into paths(), or kUnknown.
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
