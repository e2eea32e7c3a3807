#include "storage/rollup/renames.h"

#include <algorithm>

#include "schemas/vocabulary/kinds.h"
#include "storage/store_limits.h"

namespace perfleet {

bool Renames::add(const DecodedRows& rows) {
    const auto times = rows.integers(ColumnId::kTime);
    const auto ops = rows.integers(ColumnId::kTaskOp);
    const auto tids = rows.integers(ColumnId::kTid);
    for (std::size_t i = 0; i < rows.row_count(); ++i) {
        const auto op = static_cast<TaskOp>(ops[i]);
        // What is present has its name from the epoch's start.
        if (op != TaskOp::kComm && op != TaskOp::kExec && op != TaskOp::kFork) {
            continue;
        }
        if (moments_.size() == limits::kRollupRenamesMax) {
            return false;
        }
        moments_.emplace_back(static_cast<std::uint32_t>(tids[i]), Ticks{times[i]});
    }
    return true;
}

void Renames::finish() {
    std::sort(moments_.begin(), moments_.end());
    moments_.erase(std::unique(moments_.begin(), moments_.end()), moments_.end());
}

Renames::Span Renames::at(std::uint32_t tid, Ticks ticks) const {
    const auto after = std::upper_bound(moments_.begin(), moments_.end(), std::pair{tid, ticks});
    Span span;
    span.number = static_cast<std::uint32_t>(after - moments_.begin());
    if (after != moments_.begin() && (after - 1)->first == tid) {
        span.from = (after - 1)->second;
    }
    if (after != moments_.end() && after->first == tid) {
        span.until = after->second;
    }
    return span;
}

}  // namespace perfleet
