// A store that reports how much of what a scan knows of has been read: rows of the kinds that it reads. What is read
// again, or never, because a summary stands for it, isn't known before. Without a report it is just the store.
//
// Borrows the store. Threads: as the store.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "query-engine/scan/cancellable_store.h"
#include "schemas/vocabulary/progress.h"

namespace perfleet {

class WatchedStore : public CancellableStore {
public:
    WatchedStore(const StoreReader& store, ProgressReport report) : WatchedStore{store, never_, std::move(report)} {}
    WatchedStore(const StoreReader& store, const std::atomic<bool>& cancelled, ProgressReport report)
        : CancellableStore{store, cancelled}, report_{std::move(report)} {}

    [[nodiscard]] Result<Done> visit_batches(const Partition& partition, TargetId target, SessionId session,
                                             const std::function<Visit(const BatchRecord&)>& visitor) const override;
    [[nodiscard]] BlockCursor blocks(const Partition& partition, TargetId target, SessionId session,
                                     Series series) const override;

private:
    using Place = std::tuple<Partition, TargetId, SessionId, Series>;
    struct Rows {
        std::vector<std::pair<Seq, std::uint64_t>> before;  // of each batch, ascending: rows of those before it
        std::uint64_t total = 0;
        std::uint64_t read = 0;
    };

    // That the rows before this batch are read; all of them, where there is none.
    void advance(const Place& place, const std::optional<Seq>& seq) const;

    ProgressReport report_;
    std::atomic<bool> never_{false};
    mutable std::mutex mutex_;
    mutable std::map<Place, Rows> rows_;
    mutable std::map<Kind, std::uint64_t> total_by_kind_;
    mutable std::set<Kind> read_kinds_;
    mutable std::uint64_t read_ = 0;
};

}  // namespace perfleet
