// The rollups that a scan may use.
#include <algorithm>
#include <utility>

#include "query-engine/scan/block_place.h"
#include "query-engine/scan/scan.h"

namespace perfleet {
namespace {

constexpr RollupKind kDays{RollupContent::kNamedStacks, RollupLevel::kDay};

}  // namespace

// A batch of which this scan doesn't know, or whose record says something else, makes the sums differ.
bool Scan::adds_up(std::size_t session_index, Series series, const Partition& partition,
                   const RollupCover& cover) const {
    const ScannedSession& session = sessions_[session_index];
    std::uint64_t row_count = 0;
    for (const SeqRange& range : cover.seqs) {
        auto batch = std::lower_bound(session.batches.begin(), session.batches.end(), range.first,
                                      [](const BatchRecord& record, Seq seq) { return record.seq < seq; });
        for (; batch != session.batches.end() && batch->seq <= range.last; ++batch) {
            const auto index = static_cast<std::size_t>(batch - session.batches.begin());
            for (const BatchRecord::Rows& rows : batch->rows) {
                if (rows.series == series && batch->epoch == cover.epoch &&
                    session.batch_partitions[index] == partition) {
                    row_count += rows.row_count;
                }
            }
        }
    }
    return row_count == cover.row_count;
}

Result<Done> Scan::visit_rollups(std::size_t session_index, EpochNumber epoch, Series series, RollupLevel level,
                                 const std::function<bool(const RollupCover&)>& is_wanted,
                                 const std::function<void(const Rollup&)>& visitor) const {
    return visit_covers(session_index, epoch, series, {RollupContent::kStacks, level}, is_wanted,
                        [&](std::string_view bytes_untrusted) -> Result<Done> {
                            const auto rollup = PERFLEET_TRY(decode_rollup_untrusted(bytes_untrusted));
                            visitor(rollup);
                            return Done{};
                        });
}

Result<Done> Scan::visit_value_rollups(std::size_t session_index, EpochNumber epoch, Series series, RollupLevel level,
                                       const std::function<bool(const RollupCover&)>& is_wanted,
                                       const std::function<void(const ValueRollup&)>& visitor) const {
    return visit_covers(session_index, epoch, series, {RollupContent::kValues, level}, is_wanted,
                        [&](std::string_view bytes_untrusted) -> Result<Done> {
                            const auto rollup = PERFLEET_TRY(decode_value_rollup_untrusted(bytes_untrusted));
                            visitor(rollup);
                            return Done{};
                        });
}

Result<Done> Scan::visit_covers(std::size_t session_index, EpochNumber epoch, Series series, RollupKind kind,
                                const std::function<bool(const RollupCover&)>& is_wanted,
                                const std::function<Result<Done>(std::string_view bytes_untrusted)>& visitor) const {
    for (const auto& [partition, row_count] : expected_rows(session_index, epoch, series)) {
        const auto on_rollup = [&, here = partition](std::string_view bytes_untrusted) -> Result<Visit> {
            const auto cover = PERFLEET_TRY(decode_rollup_cover_untrusted(bytes_untrusted));
            if (cover.epoch == epoch && is_wanted(cover) && adds_up(session_index, series, here, cover)) {
                PERFLEET_TRY(visitor(bytes_untrusted));
            }
            return Visit::kContinue;
        };
        PERFLEET_TRY(each_rollup(session_index, partition, series, kind, "their blocks", on_rollup));
    }
    return Done{};
}

Result<Done> Scan::each_rollup(std::size_t session_index, const Partition& partition, Series series, RollupKind kind,
                               const std::string& otherwise,
                               const std::function<Result<Visit>(std::string_view bytes_untrusted)>& visitor) const {
    if (selection_.is_exact) {
        return Done{};
    }
    const SessionRecord& record = sessions_[session_index].record;
    RollupCursor rollups = store_->rollups(partition, record.target, record.session, series, kind);
    for (bool has_gap = false;;) {
        const auto at = PERFLEET_TRY(rollups.next());
        if (at.step == CursorStep::kEnd) {
            return Done{};
        }
        const Result<Visit> visit = at.step == CursorStep::kItem ? visitor(at.value) : Result<Visit>{at.gap};
        if (visit.ok() && *visit == Visit::kStop) {
            return Done{};
        }
        if (!visit.ok() && (at.step == CursorStep::kItem || !std::exchange(has_gap, true))) {
            damage_->add_note(session_index, block_place(record, series, at.key.first_seq) + ": rollup: " +
                                                 visit.error().message + "; its rows are read from " + otherwise);
        }
    }
}

bool Scan::covers_all(std::size_t session_index, const Partition& partition, const RollupCover& cover,
                      bool (*is_covered_kind)(Kind)) const {
    const ScannedSession& session = sessions_[session_index];
    const auto ranges = session.epoch_batches.find(cover.epoch);
    if (ranges == session.epoch_batches.end()) {
        return false;
    }
    std::uint64_t known = 0;
    std::uint64_t covered = 0;
    auto range = cover.seqs.begin();
    for (const auto& [first, last] : ranges->second) {
        for (std::size_t i = first; i < last; ++i) {
            const BatchRecord& batch = session.batches[i];
            range = std::find_if(range, cover.seqs.end(), [&](const SeqRange& one) { return batch.seq <= one.last; });
            const bool is_covered =
                range != cover.seqs.end() && range->first <= batch.seq && session.batch_partitions[i] == partition;
            for (const BatchRecord::Rows& rows : batch.rows) {
                const std::uint64_t row_count = is_covered_kind(rows.series.kind) ? rows.row_count : 0;
                known += row_count;
                covered += is_covered ? row_count : 0;
            }
        }
    }
    return known == cover.row_count && covered == known;
}

// Its rows as those of any rollup; and of what gives meaning to them all that the scan knows of the epoch is what was
// known then: a name or a definition that came since makes them mean something else.
bool Scan::adds_up(std::size_t session_index, Series series, const DayHour& hour) const {
    return covers_all(session_index, hour.partition, hour.meaning, gives_meaning) &&
           adds_up(session_index, series, hour.partition, hour.rows);
}

Result<Done> Scan::visit_day_rollups(std::size_t session_index, const Partition& partition, Series series,
                                     const std::function<Visit(const DayRollup&)>& visitor) const {
    const auto on_rollup = [&](std::string_view bytes_untrusted) -> Result<Visit> {
        const auto rollup = PERFLEET_TRY(decode_day_rollup_untrusted(bytes_untrusted));
        const bool is_wanted =
            side_of(rollup.first_ticks, rollup.last_ticks, tick_ranges_[session_index]) == Side::kInside &&
            std::all_of(rollup.hours.begin(), rollup.hours.end(),
                        [&](const DayHour& hour) { return adds_up(session_index, series, hour); });
        return is_wanted ? visitor(rollup) : Visit::kContinue;
    };
    return each_rollup(session_index, partition, series, kDays, "its hours", on_rollup);
}

Result<bool> Scan::has_day_rollup(std::size_t session_index, const Partition& partition, Series series) const {
    if (selection_.is_exact) {
        return false;
    }
    const SessionRecord& session = sessions_[session_index].record;
    RollupCursor days = store_->rollups(partition, session.target, session.session, series, kDays);
    for (;;) {
        const auto at = PERFLEET_TRY(days.next());
        if (at.step != CursorStep::kGap) {
            return at.step == CursorStep::kItem;
        }
    }
}

bool Scan::is_all_in_range(std::size_t session_index, EpochNumber epoch, Series series) const {
    bool is_all = true;
    each_batch(session_index, epoch, series, [&](const Partition&, Seq, const BatchRecord::Rows& rows) {
        is_all = is_all && side_of(rows.first_ticks, rows.last_ticks, tick_ranges_[session_index]) == Side::kInside;
    });
    return is_all;
}

}  // namespace perfleet
