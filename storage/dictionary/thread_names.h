// The name of a thread at a given time: from the task rows of one epoch.
//
// A name holds from its comm, exec or fork row (a forked thread takes its parent's) until the next; names of an epoch's
// start hold from before its first row. A thread that was never named is ":TID", and thread 0 is "swapper", as in perf.
// Built by one thread, then read by many.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "schemas/vocabulary/kinds.h"
#include "schemas/vocabulary/time.h"
#include "storage/dictionary/epoch_dictionary.h"
#include "storage/dictionary/timed_names.h"

namespace perfleet {

class ThreadNames {
public:
    static constexpr std::uint32_t kNoName = TimedNames::kNoName;
    using Span = TimedNames::Span;
    // The columns of task rows that add() needs.
    static constexpr std::array kColumns{ColumnId::kTime,      ColumnId::kTaskOp,    ColumnId::kTid,
                                         ColumnId::kParentPid, ColumnId::kParentTid, ColumnId::kString};

    // Adds task rows of the epoch, ascending by seq; kColumns are decoded.
    void add(const DecodedRows& rows);
    // Call it before the first at(). Borrows the dictionary until it returns.
    void finish(const EpochDictionary& dictionary);

    [[nodiscard]] Span at(std::uint32_t tid, Ticks ticks) const { return names_.at(tid, ticks); }
    [[nodiscard]] std::string text(std::uint32_t name, std::uint32_t tid) const;

private:
    struct TaskRow {
        Ticks ticks;
        TaskOp op{};
        std::uint32_t tid = 0;
        std::uint32_t parent_pid = 0;
        std::uint32_t parent_tid = 0;
        StringNumber string;
    };
    std::vector<TaskRow> task_rows_;  // until finish()
    TimedNames names_;
};

}  // namespace perfleet
