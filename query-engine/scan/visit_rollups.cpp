// The rollups that a scan may use.
#include <algorithm>
#include <optional>

#include "query-engine/scan/block_place.h"
#include "query-engine/scan/scan.h"

namespace perfleet {

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
    return visit_covers(session_index, epoch, series, {RollupContent::kStacks, level}, decode_rollup_cover_untrusted,
                        is_wanted, [&](std::string_view bytes_untrusted) -> Result<Done> {
                            const Result<Rollup> rollup = decode_rollup_untrusted(bytes_untrusted);
                            if (!rollup.ok()) {
                                return Error{rollup.error()};
                            }
                            visitor(*rollup);
                            return Done{};
                        });
}

Result<Done> Scan::visit_value_rollups(std::size_t session_index, EpochNumber epoch, Series series, RollupLevel level,
                                       const std::function<bool(const RollupCover&)>& is_wanted,
                                       const std::function<void(const ValueRollup&)>& visitor) const {
    return visit_covers(session_index, epoch, series, {RollupContent::kValues, level},
                        decode_value_rollup_cover_untrusted, is_wanted,
                        [&](std::string_view bytes_untrusted) -> Result<Done> {
                            const Result<ValueRollup> rollup = decode_value_rollup_untrusted(bytes_untrusted);
                            if (!rollup.ok()) {
                                return Error{rollup.error()};
                            }
                            visitor(*rollup);
                            return Done{};
                        });
}

Result<Done> Scan::visit_covers(std::size_t session_index, EpochNumber epoch, Series series, RollupKind kind,
                                Result<RollupCover> (*decode_cover)(std::string_view),
                                const std::function<bool(const RollupCover&)>& is_wanted,
                                const std::function<Result<Done>(std::string_view bytes_untrusted)>& visitor) const {
    if (selection_.is_exact) {
        return Done{};
    }
    const ScannedSession& session = sessions_[session_index];
    const auto note = [&](Seq first_seq, const std::string& what) {
        damage_->add_note(session_index, block_place(session.record, series, first_seq) + ": rollup: " + what +
                                             "; its rows are read from their blocks");
    };
    for (const auto& [partition, row_count] : expected_rows(session_index, epoch, series)) {
        const auto on_rollup = [&, here = partition](const RollupKey& key, std::string_view bytes_untrusted) {
            const Result<RollupCover> cover = decode_cover(bytes_untrusted);
            if (!cover.ok()) {
                note(key.first_seq, cover.error().message);
                return Visit::kContinue;
            }
            if (cover->epoch == epoch && is_wanted(*cover) && adds_up(session_index, series, here, *cover)) {
                if (const Result<Done> visited = visitor(bytes_untrusted); !visited.ok()) {
                    note(key.first_seq, visited.error().message);
                }
            }
            return Visit::kContinue;
        };
        Result<Done> visited =
            store_->visit_rollups(partition, session.record.target, session.record.session, series, kind, on_rollup);
        if (!visited.ok()) {
            if (!is_store_damage(visited.error())) {
                return visited;
            }
            note(Seq{0}, visited.error().message);
        }
    }
    return Done{};
}

}  // namespace perfleet
