#include "query-engine/statistic/session/pushed_parts.h"

#include <array>

#include "query-engine/scan/row_cursor.h"
#include "query-engine/scan/scan.h"
#include "schemas/pprof/sample_labels.h"

namespace perfleet {

Result<std::map<std::pair<std::uint64_t, std::uint64_t>, UtcNs>> pushed_parts(const StoreReader& store, UtcNs since) {
    Selection selection;
    selection.matchers = {{kProducerLabel, Matcher::Operator::kNotEqual, ""}};
    selection.from = since;
    selection.thread_count = 1;
    const Scan scan = PERFLEET_TRY(Scan::open(store, selection));
    std::map<std::pair<std::uint64_t, std::uint64_t>, UtcNs> parts;
    for (std::size_t i = 0; i < scan.sessions().size(); ++i) {
        if (scan.sessions()[i].record.collector_version != kPushCollector) {
            continue;
        }
        constexpr std::array kColumns{ColumnId::kTime, ColumnId::kTaskOp, ColumnId::kAddress, ColumnId::kValue};
        RowCursor rows{scan, i, Series{Kind::kTask, kNoEvent}, kColumns};
        while (const RowBlock* const block = rows.next()) {
            const auto ops = block->rows.integers(ColumnId::kTaskOp);
            for (std::size_t row = 0; row < ops.size(); ++row) {
                if (static_cast<TaskOp>(ops[row]) == TaskOp::kPushed) {
                    const Ticks time{block->rows.integers(ColumnId::kTime)[row]};
                    parts[{block->rows.integers(ColumnId::kAddress)[row],
                           block->rows.integers(ColumnId::kValue)[row]}] = scan.sessions()[i].clock.utc_of(time);
                }
            }
        }
        PERFLEET_TRY(rows.status());
    }
    return parts;
}

}  // namespace perfleet
