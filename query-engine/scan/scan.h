// The scan: from a store and a selection to decoded rows, session by session, epoch by epoch. What statistics and
// exporters stand on.
//
// Time: rows keep ticks; Session::clock converts. A row is in the selection when its UTC time is in [from, to);
// definitions and task rows are always given whole, for they give meaning to the rest. Threads: open() and the visits
// may run on several threads at once over one Scan. Visits are deterministic: the same rows in the same order whatever
// the order of delivery, the batching in the store, or the engine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "query-engine/select/selection.h"
#include "query-engine/statistic/answer.h"
#include "schemas/vocabulary/error.h"
#include "storage/block/block.h"
#include "storage/dictionary/epoch_dictionary.h"
#include "storage/store/store.h"

namespace perfleet {

// Ticks ↔ UTC by the session's clock points: linear between two points, at the nominal rate before the first and after
// the last.
class ClockMap {
public:
    ClockMap(std::uint64_t ticks_per_second, std::vector<ClockPoint> points);

    [[nodiscard]] UtcNs utc_of(Ticks ticks) const;
    [[nodiscard]] Ticks ticks_of(UtcNs utc) const;  // the first tick whose utc_of is not before `utc`
    [[nodiscard]] std::span<const ClockPoint> points() const { return points_; }

private:
    std::uint64_t ticks_per_second_;
    std::vector<ClockPoint> points_;  // ascending by ticks
};

// What a scan knows of one selected session.
struct ScannedSession {
    SessionRecord record;
    ClockMap clock;
    std::vector<Partition> partitions;  // that hold rows of it, ascending
    std::vector<EpochNumber> epochs;    // ascending; each lies in one partition
    std::vector<BatchRecord> batches;   // ascending by seq, over all partitions
    std::optional<SessionEnd> end;      // none: still running, or unclean
    std::vector<std::pair<Series, std::uint64_t>> expired;
    std::vector<Series> series;  // with at least one row, ascending
};

// One series' rows of one batch, decoded. Borrowed until the visitor returns.
struct RowBlock {
    std::size_t session_index = 0;  // into Scan::sessions()
    Series series;
    EpochNumber epoch;
    Seq seq;
    const DecodedRows& rows;
};

class Scan {
public:
    // Errors: kNotFound when a `--session` prefix matches none, or is ambiguous (kUsage); those of the store.
    [[nodiscard]] static Result<Scan> open(const StoreReader& store, const Selection& selection);

    [[nodiscard]] std::span<const ScannedSession> sessions() const { return sessions_; }
    [[nodiscard]] const Selection& selection() const { return selection_; }

    // The ticks [first, last) of the session that the selection's time range covers.
    [[nodiscard]] std::pair<Ticks, Ticks> tick_range(std::size_t session_index) const;

    // The series' rows of one epoch, batch by batch, ascending by seq. Blocks that lie wholly outside the time range
    // are left out, except those of tasks and definitions; the rows of others are NOT cut to the range: compare with
    // tick_range. `wanted` columns only; all when empty.
    [[nodiscard]] Result<Done> visit_rows(std::size_t session_index, EpochNumber epoch, Series series,
                                          std::span<const ColumnId> wanted,
                                          const std::function<Visit(const RowBlock&)>& visitor) const;

    // Read and checked anew at each call; callers keep it while they work on the epoch.
    [[nodiscard]] Result<std::shared_ptr<const EpochDictionary>> dictionary(std::size_t session_index,
                                                                            EpochNumber epoch) const;

    // The ledger of the session's rows of these kinds (all row kinds when empty; definitions never). With a time range,
    // what is counted are the batches that overlap it. `warnings` gets a line for an unclean session and the like.
    [[nodiscard]] Ledger ledger(std::size_t session_index, std::span<const Kind> kinds,
                                std::vector<std::string>& warnings) const;

    [[nodiscard]] const StoreReader& store() const { return *store_; }

private:
    Scan(const StoreReader& store, Selection selection) : store_{&store}, selection_{std::move(selection)} {}

    const StoreReader* store_;
    Selection selection_;
    std::vector<ScannedSession> sessions_;
};

}  // namespace perfleet
