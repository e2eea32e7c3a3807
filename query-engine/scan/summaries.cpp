// The summaries of days that a scan may use.
#include <algorithm>
#include <utility>

#include "query-engine/scan/block_place.h"
#include "query-engine/scan/scan.h"

namespace perfleet {
// The row counts differ if the scan doesn't know one of the batches, or if a batch record has another count.
bool Scan::adds_up(std::size_t session_index, Series series, const Partition& partition, const RowCover& cover) const {
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

bool Scan::covers_all(std::size_t session_index, const Partition& partition, const RowCover& cover,
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

// Whether the summary's rows are complete, and whether the scan knows the same names and definitions for its epoch as
// the summary did: later ones would change what its rows mean.
bool Scan::adds_up(std::size_t session_index, Series series, const DayHour& hour) const {
    return covers_all(session_index, hour.partition, hour.meaning, gives_meaning) &&
           adds_up(session_index, series, hour.partition, hour.rows);
}

Result<Done> Scan::visit_summaries(std::size_t session_index, const Partition& partition, Series series,
                                   const std::function<Visit(const DaySummary&)>& visitor) const {
    const SessionRecord& record = sessions_[session_index].record;
    SummaryCursor summaries = store_->summaries(partition, record.target, record.session, series);
    for (bool has_gap = false;;) {
        PERFLEET_TRY(go_on());
        const auto at = PERFLEET_TRY(summaries.next());
        if (at.step == CursorStep::kEnd) {
            return Done{};
        }
        const auto summary =
            at.step == CursorStep::kItem ? decode_summary_untrusted(at.value) : Result<DaySummary>{at.gap};
        if (!summary.ok()) {
            if (at.step == CursorStep::kItem || !std::exchange(has_gap, true)) {
                damage_->add_note(session_index, block_place(record, series, at.key.first_seq) + ": summary: " +
                                                     summary.error().message + "; its rows are read from their blocks");
            }
            continue;
        }
        const bool is_wanted =
            side_of(summary->first_ticks, summary->last_ticks, tick_ranges_[session_index]) == Side::kInside &&
            std::all_of(summary->hours.begin(), summary->hours.end(),
                        [&](const DayHour& hour) { return adds_up(session_index, series, hour); });
        if (is_wanted && visitor(*summary) == Visit::kStop) {
            return Done{};
        }
    }
}

Result<bool> Scan::has_summary(std::size_t session_index, const Partition& partition, Series series) const {
    const SessionRecord& session = sessions_[session_index].record;
    SummaryCursor summaries = store_->summaries(partition, session.target, session.session, series);
    for (;;) {
        const auto at = PERFLEET_TRY(summaries.next());
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
