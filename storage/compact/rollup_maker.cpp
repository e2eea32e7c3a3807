#include "storage/compact/rollup_maker.h"

#include <algorithm>
#include <array>
#include <span>

#include "storage/engine/damaged_reads.h"
#include "storage/model/record.h"
#include "storage/model/rollup_cover.h"
#include "storage/rollup/rollup_sums.h"
#include "storage/rollup/value_sums.h"
#include "storage/store_limits.h"

namespace perfleet {
namespace {

constexpr std::uint32_t kBlocksAStep = 16;  // until somebody else gets a turn
constexpr Series kTasks{Kind::kTask, kNoEvent};

std::span<const RollupContent> contents_of(Kind kind) {
    static constexpr std::array kAll{RollupContent::kStacks, RollupContent::kValues};
    return !traits_of(kind).has_call_chain ? std::span<const RollupContent>{}
                                           : std::span{kAll}.first(column_rule(kind, ColumnId::kValue) ? 2 : 1);
}

}  // namespace

Result<PartitionMaker::Outcome> RollupMaker::roll_up_partition() {
    return for_each_session([this](const SessionName& session) { return roll_up_session(session); });
}

Result<bool> RollupMaker::roll_up_session(const SessionName& session) {
    SessionBatches batches = PERFLEET_TRY(read_session_batches(*reads_, partition_, session));
    std::optional<ClockMap> clock;
    for (auto& [epoch, all] : batches.epochs) {
        std::optional<Renames> renames;
        for (auto& [series, named] : all.series) {
            for (const RollupContent content : contents_of(series.kind)) {
                const Source source{session, epoch, series, content};
                const auto row_count = PERFLEET_TRY(mark_covered(source, named));
                if (row_count == 0 || row_count < policy_.rows_min) {
                    continue;
                }
                if (!clock) {
                    clock = PERFLEET_TRY(read_clock(session, batches.points));
                }
                auto rolled_up = content == RollupContent::kValues
                                     ? roll_up_values(source, named, *clock)
                                     : roll_up_stacks(source, named, row_count, *clock, renames);
                if (!rolled_up.ok() || !*rolled_up) {
                    return rolled_up;
                }
            }
        }
    }
    return true;
}

// As a query will know it, as far as the bucket and its neighbours tell: points further away don't change what lies
// between these.
Result<ClockMap> RollupMaker::read_clock(const SessionName& session, std::vector<ClockPoint> points) const {
    auto record = PERFLEET_TRY(reads_->session(session.target, session.session));
    if (!record.has_value()) {
        return Error{ErrorCode::kCorrupt, "store: a session without a description"};
    }
    points.push_back(record->start_point);
    auto end = PERFLEET_TRY(reads_->session_end(session.target, session.session));
    if (end.has_value()) {
        points.push_back(end->end_point);
    }
    auto partitions = PERFLEET_TRY(reads_->session_partitions(session.target, session.session));
    const auto own = std::lower_bound(partitions.begin(), partitions.end(), partition_);
    std::vector<Partition> neighbours;
    if (own != partitions.begin()) {
        neighbours.push_back(*(own - 1));
    }
    if (own != partitions.end() && own + 1 != partitions.end()) {
        neighbours.push_back(*(own + 1));
    }
    for (const Partition& neighbour : neighbours) {
        auto visited =
            reads_->visit_batches(neighbour, session.target, session.session, Seq{0}, [&](const BatchRecord& batch) {
                points.insert(points.end(), batch.clock_points.begin(), batch.clock_points.end());
                return Visit::kContinue;
            });
        if (!visited.ok() && !is_damage(visited.error())) {
            return visited.error();
        }
    }
    return ClockMap{record->ticks_per_second, std::move(points)};
}

// By hours: those of other levels are written with them. Gives the rows that none covers.
Result<std::uint64_t> RollupMaker::mark_covered(const Source& source, std::vector<BatchRows>& named) const {
    for (BatchRows& one : named) {
        one.is_covered = false;
    }
    ReadableCursor rollups = undamaged(series_rollups_range(partition_, source.session.target, source.session.session,
                                                            source.series, {source.content, RollupLevel::kHour}));
    while (PERFLEET_TRY(rollups.next_item())) {
        const auto cover = decode_rollup_cover_untrusted(rollups.value());
        if (cover.ok() && cover->epoch == source.epoch) {
            for (BatchRows* const one : covered_by(*cover, named)) {
                one->is_covered = true;
            }
        }
    }
    return count_uncovered(named);
}

Result<bool> RollupMaker::read_renames(const SessionName& session, EpochNumber epoch, Renames& renames) const {
    constexpr std::array kWanted{ColumnId::kTime, ColumnId::kTaskOp, ColumnId::kTid};
    DecodedRows rows;
    EpochBlockCursor blocks = epoch_blocks({session, partition_, epoch}, kTasks);
    while (const BlockView* const block = PERFLEET_TRY(blocks.next())) {
        if (rows.decode(*block, kWanted).ok() && !renames.add(rows)) {
            return false;
        }
    }
    renames.finish();
    return true;
}

// Rows are summed by minutes, minutes by hours, when there are as many sums as one rollup may have; hours are written
// with their minutes, so that both cover the same.
template <class Sums>
class RollupMaker::SeriesSums {
public:
    // Empty sums of both levels.
    SeriesSums(RollupMaker& maker, const Source& source, Sums minutes, Sums hours)
        : maker_{maker}, source_{source}, minutes_{std::move(minutes)}, hours_{std::move(hours)} {}

    [[nodiscard]] bool has_room(std::uint32_t row_count) const {
        return minutes_.cover().row_count == 0 || !is_full(minutes_, row_count);
    }
    void add(const DecodedRows& rows, std::size_t first, std::size_t last, Seq seq, bool is_next) {
        minutes_.add_rows(rows, first, last);
        minutes_.add_seq(seq, is_next);
    }

    // Makes room. False when the work ends.
    [[nodiscard]] Result<bool> take() {
        const bool is_hour_full = is_full(hours_, minutes_.sum_count()) || made_sums_ > maker_.policy_.sums_max;
        hours_.add_sums(minutes_);
        if (is_worth_it(minutes_)) {
            made_sums_ += minutes_.sum_count();
            keep(RollupLevel::kMinute, minutes_);
        }
        minutes_.clear();
        return is_hour_full ? finish() : Result<bool>{true};
    }

    // Likewise, of all that was added.
    [[nodiscard]] Result<bool> finish() {
        if (minutes_.cover().row_count != 0) {
            if (auto taken = take(); !taken.ok() || !*taken) {
                return taken;
            }
        }
        const std::uint64_t row_count = hours_.cover().row_count;
        if (row_count == 0) {
            return true;
        }
        const bool is_kept = is_worth_it(hours_);
        if (is_kept) {
            keep(RollupLevel::kHour, hours_);
        }
        auto written = is_kept ? maker_.write(made_, row_count)
                               : maker_.steps_.report({.partition = maker_.partition_, .rows_left = row_count});
        hours_.clear();
        made_.clear();
        made_sums_ = 0;
        return written;
    }

private:
    [[nodiscard]] bool is_full(const Sums& sums, std::size_t more_sums) const {
        return sums.sum_count() + more_sums > maker_.policy_.sums_max ||
               sums.cell_count() >= limits::kRollupCellsMax / 2 ||
               sums.cover().seqs.size() >= limits::kRollupSeqRangesMax / 2;
    }
    [[nodiscard]] bool is_worth_it(const Sums& sums) const {
        const RollupCover& cover = sums.cover();
        return cover.row_count != 0 && cover.row_count / maker_.policy_.rows_per_sum >= sums.sum_count() &&
               sums.cell_count() <= limits::kRollupCellsMax && cover.seqs.size() <= limits::kRollupSeqRangesMax;
    }
    void keep(RollupLevel level, const Sums& sums) {
        made_.emplace_back(rollup_key({maker_.partition_,
                                       source_.session.target,
                                       source_.session.session,
                                       source_.series,
                                       {Sums::kContent, level},
                                       sums.cover().seqs.front().first}),
                           encode_rollup(sums.rollup(source_.epoch)));
    }

    RollupMaker& maker_;
    const Source& source_;
    Sums minutes_;
    Sums hours_;
    std::vector<std::pair<std::string, std::string>> made_;  // keys and values of minutes that are in hours_
    std::size_t made_sums_ = 0;
};

Result<bool> RollupMaker::roll_up_stacks(const Source& source, const std::vector<BatchRows>& named,
                                         std::uint64_t row_count, const ClockMap& clock,
                                         std::optional<Renames>& renames) {
    if (!renames) {
        renames.emplace();
        auto read = PERFLEET_TRY(read_renames(source.session, source.epoch, *renames));
        if (!read) {
            renames.reset();
            return steps_.report({.partition = partition_, .rows_left = row_count});
        }
    }
    return roll_up_series(source, named,
                          SeriesSums<RollupSums>{*this, source, RollupSums{RollupLevel::kMinute, clock, *renames},
                                                 RollupSums{RollupLevel::kHour, clock, *renames}});
}

Result<bool> RollupMaker::roll_up_values(const Source& source, const std::vector<BatchRows>& named,
                                         const ClockMap& clock) {
    return roll_up_series(source, named,
                          SeriesSums<ValueSums>{*this, source, ValueSums{RollupLevel::kMinute, clock},
                                                ValueSums{RollupLevel::kHour, clock}});
}

template <class Sums>
Result<bool> RollupMaker::roll_up_series(const Source& source, const std::vector<BatchRows>& named,
                                         SeriesSums<Sums> sums) {
    DecodedRows rows;
    std::size_t next_named = 0;  // those before were added or can't be
    std::uint32_t block_count = 0;
    EpochBlockCursor blocks = epoch_blocks({source.session, partition_, source.epoch}, source.series);
    while (const BlockView* const block = PERFLEET_TRY(blocks.next())) {
        while (add_block(*block, named, next_named, rows, sums)) {
            if (auto taken = sums.take(); !taken.ok() || !*taken) {
                return taken;
            }
        }
        if (++block_count % kBlocksAStep == 0) {
            blocks.reopen();
            if (!steps_.report({.partition = partition_})) {
                return false;
            }
        }
    }
    return sums.finish();
}

// Adds the rows of the block's batches from `next_named` on, which moves behind them. True when there was no room for
// all.
template <class Sums>
bool RollupMaker::add_block(const BlockView& block, const std::vector<BatchRows>& named, std::size_t& next_named,
                            DecodedRows& rows, SeriesSums<Sums>& sums) {
    bool is_decoded = false;
    for (const auto& [index, first, last] : uncovered_parts(block, named, next_named)) {
        if (!sums.has_room(named[index].row_count)) {
            return true;
        }
        if (!is_decoded && !rows.decode(block, Sums::kColumns).ok()) {
            return false;
        }
        is_decoded = true;
        sums.add(rows, first, last, named[index].seq, index == next_named);
        next_named = index + 1;
    }
    return false;
}

Result<bool> RollupMaker::write(const std::vector<std::pair<std::string, std::string>>& rollups,
                                std::uint64_t row_count) {
    Changes changes;
    for (const auto& [key, value] : rollups) {
        changes.puts.push_back({key, value});
    }
    return steps_.write(changes, {.partition = partition_, .rollups = rollups.size(), .rollup_rows = row_count},
                        &CompactionStep::rollup_bytes);
}

}  // namespace perfleet
