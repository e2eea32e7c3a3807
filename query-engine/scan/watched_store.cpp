#include "query-engine/scan/watched_store.h"

#include <algorithm>

namespace perfleet {

Result<Done> WatchedStore::visit_batches(const Partition& partition, TargetId target, SessionId session,
                                         const std::function<Visit(const BatchRecord&)>& visitor) const {
    if (!report_) {
        return CancellableStore::visit_batches(partition, target, session, visitor);
    }
    std::map<Series, Rows> found;
    Result<Done> visited = CancellableStore::visit_batches(partition, target, session, [&](const BatchRecord& batch) {
        for (const BatchRecord::Rows& rows : batch.rows) {
            if (!is_definition(rows.series.kind)) {
                Rows& all = found[rows.series];
                all.before.emplace_back(batch.seq, all.total);
                all.total += rows.row_count;
            }
        }
        return visitor(batch);
    });
    const std::lock_guard lock{mutex_};
    for (auto& [series, rows] : found) {
        const std::uint64_t total = rows.total;
        if (rows_.try_emplace({partition, target, session, series}, std::move(rows)).second) {
            total_by_kind_[series.kind] += total;
        }
    }
    return visited;
}

BlockCursor WatchedStore::blocks(const Partition& partition, TargetId target, SessionId session, Series series) const {
    BlockCursor cursor = CancellableStore::blocks(partition, target, session, series);
    if (!report_) {
        return cursor;
    }
    // What isn't wanted any more counts as read, too.
    const std::shared_ptr<const Place> place{new Place{partition, target, session, series}, [this](const Place* read) {
                                                 advance(*read, std::nullopt);
                                                 delete read;
                                             }};
    return BlockCursor{[this, cursor = std::move(cursor), place](Seq first) mutable {
        cursor.seek(first);
        Result<BlockStep> step = cursor.next();
        if (step.ok() && step->step == CursorStep::kItem) {
            advance(*place, step->key.first_seq);
        }
        return step;
    }};
}

void WatchedStore::advance(const Place& place, const std::optional<Seq>& seq) const {
    const std::lock_guard lock{mutex_};
    const auto found = rows_.find(place);
    if (found == rows_.end()) {
        return;
    }
    Rows& rows = found->second;
    const auto batch = seq ? std::lower_bound(rows.before.begin(), rows.before.end(), std::pair{*seq, std::uint64_t{0}})
                           : rows.before.end();
    const std::uint64_t read = std::max(rows.read, batch == rows.before.end() ? rows.total : batch->second);
    read_ += read - rows.read;
    rows.read = read;
    read_kinds_.insert(std::get<Series>(place).kind);
    std::uint64_t total = 0;
    for (const Kind kind : read_kinds_) {
        total += total_by_kind_[kind];
    }
    report_(read_, total);
}

}  // namespace perfleet
