#include "storage/store/rollup_maker.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "schemas/vocabulary/limits.h"
#include "storage/store/damaged_reads.h"
#include "storage/store/record.h"

namespace perfleet {
namespace {

constexpr std::uint32_t kBlocksAStep = 16;  // until somebody else gets a turn
constexpr Series kTasks{Kind::kTask, kNoEvent};

bool is_profile(Kind kind) { return kind == Kind::kSample || kind == Kind::kTracepoint; }

}  // namespace

Result<Joiner::Outcome> RollupMaker::roll_up_partition() {
    std::set<SessionName> sessions;
    auto visited = visit_readable(
        *engine_, partition_sessions_range(partition_),
        [&](std::string_view key, std::string_view) {
            if (const auto name = decode_partition_session_key(key); name.ok()) {
                sessions.insert(name->name);
            }
            return Visit::kContinue;
        },
        [](const DamagedRange&) {});
    if (!visited.ok()) {
        return visited.error();
    }
    for (const SessionName& session : sessions) {
        auto rolled_up = roll_up_session(session);
        if (!rolled_up.ok() && !is_damage(rolled_up.error())) {
            return rolled_up.error();
        }
        if (rolled_up.ok() && !*rolled_up) {
            return ended_;
        }
    }
    return Joiner::Outcome::kDone;
}

Result<bool> RollupMaker::roll_up_session(const SessionName& session) {
    auto watermark = reads_->watermark(session.target, session.session);
    if (!watermark.ok()) {
        return watermark.error();
    }
    auto batches = read_batches(session, *watermark);
    if (!batches.ok()) {
        return batches.error();
    }
    std::optional<ClockMap> clock;
    for (auto& [epoch, all] : batches->epochs) {
        std::optional<Renames> renames;
        for (auto& [series, named] : all) {
            if (!is_profile(series.kind)) {
                continue;
            }
            const Source source{session, epoch, series};
            if (auto marked = mark_covered(source, named); !marked.ok()) {
                return marked.error();
            }
            std::uint64_t row_count = 0;
            for (const Named& one : named) {
                row_count += one.is_covered || one.is_left ? 0 : one.row_count;
            }
            if (row_count == 0 || row_count < policy_.rows_min) {
                continue;
            }
            if (!clock) {
                auto read = read_clock(session, batches->points);
                if (!read.ok()) {
                    return read.error();
                }
                clock = std::move(*read);
            }
            if (!renames) {
                renames.emplace();
                auto read = read_renames(session, epoch, *renames);
                if (!read.ok()) {
                    return read.error();
                }
                if (!*read) {
                    if (!tell({.partition = partition_, .rows_left = row_count})) {
                        return false;
                    }
                    break;
                }
            }
            auto rolled_up = roll_up_series(source, named, *clock, *renames);
            if (!rolled_up.ok() || !*rolled_up) {
                return rolled_up;
            }
        }
    }
    return true;
}

// Records that are damaged are left out, and so are the rows of their batches.
Result<RollupMaker::Batches> RollupMaker::read_batches(const SessionName& session, Seq watermark) const {
    Batches batches;
    std::uint32_t count = 0;
    auto visited =
        reads_->visit_batches(partition_, session.target, session.session, Seq{0}, [&](const BatchRecord& batch) {
            if (batch.seq > watermark || ++count > limits::kRollupBatchesMax) {
                return Visit::kStop;
            }
            batches.points.insert(batches.points.end(), batch.clock_points.begin(), batch.clock_points.end());
            for (const BatchRecord::Rows& rows : batch.rows) {
                if (rows.row_count != 0) {
                    batches.epochs[batch.epoch][rows.series].push_back(
                        {batch.seq, rows.row_count, false, rows.last_ticks.value == ~0ULL});
                }
            }
            return Visit::kContinue;
        });
    if (!visited.ok() && !is_damage(visited.error())) {
        return visited.error();
    }
    return batches;
}

// As a query will know it, as far as the bucket and its neighbours tell: points further away don't change what lies
// between these.
Result<ClockMap> RollupMaker::read_clock(const SessionName& session, std::vector<ClockPoint> points) const {
    auto record = reads_->session(session.target, session.session);
    if (!record.ok()) {
        return record.error();
    }
    if (!record->has_value()) {
        return Error{ErrorCode::kCorrupt, "store: a session without a description"};
    }
    points.push_back((*record)->start_point);
    auto end = reads_->session_end(session.target, session.session);
    if (!end.ok()) {
        return end.error();
    }
    if (end->has_value()) {
        points.push_back((*end)->end_point);
    }
    auto partitions = reads_->session_partitions(session.target, session.session);
    if (!partitions.ok()) {
        return partitions.error();
    }
    const auto own = std::lower_bound(partitions->begin(), partitions->end(), partition_);
    std::vector<Partition> neighbours;
    if (own != partitions->begin()) {
        neighbours.push_back(*(own - 1));
    }
    if (own != partitions->end() && own + 1 != partitions->end()) {
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
    return ClockMap{(*record)->ticks_per_second, std::move(points)};
}

// By hours: those of other levels are written with them.
Result<Done> RollupMaker::mark_covered(const Source& source, std::vector<Named>& named) const {
    return visit_readable(
        *engine_,
        series_rollups_range(partition_, source.session.target, source.session.session, source.series,
                             RollupLevel::kHour),
        [&](std::string_view, std::string_view value) {
            const auto cover = decode_rollup_cover_untrusted(value);
            if (!cover.ok() || cover->epoch != source.epoch) {
                return Visit::kContinue;
            }
            for (const SeqRange& range : cover->seqs) {
                auto one = std::lower_bound(named.begin(), named.end(), range.first,
                                            [](const Named& before, Seq seq) { return before.seq < seq; });
                for (; one != named.end() && one->seq <= range.last; ++one) {
                    one->is_covered = true;
                }
            }
            return Visit::kContinue;
        },
        [](const DamagedRange&) {});
}

Result<bool> RollupMaker::read_renames(const SessionName& session, EpochNumber epoch, Renames& renames) const {
    constexpr std::array kWanted{ColumnId::kTime, ColumnId::kTaskOp, ColumnId::kTid};
    DecodedRows rows;
    bool has_room = true;
    auto visited = visit_readable(
        *engine_, series_blocks_range(partition_, session.target, session.session, kTasks),
        [&](std::string_view, std::string_view value) {
            const auto block = parse_block_untrusted(value);
            if (block.ok() && block->header.series == kTasks && block->header.epoch == epoch &&
                rows.decode(*block, kWanted).ok()) {
                has_room = renames.add(rows);
            }
            return has_room ? Visit::kContinue : Visit::kStop;
        },
        [](const DamagedRange&) {});
    if (!visited.ok()) {
        return visited.error();
    }
    renames.finish();
    return has_room;
}

bool RollupMaker::is_worth_it(const RollupSums& sums) const {
    return sums.row_count() != 0 && sums.row_count() / policy_.rows_per_sum >= sums.sum_count() &&
           sums.cell_count() <= limits::kRollupCellsMax && sums.seqs().size() <= limits::kRollupSeqRangesMax;
}

// Rows are summed by minutes, minutes by hours, when there are as many sums as one rollup may have; hours are written
// with their minutes, so that both cover the same.
class RollupMaker::SeriesSums {
public:
    SeriesSums(RollupMaker& maker, const Source& source, const ClockMap& clock, const Renames& renames)
        : maker_{maker},
          source_{source},
          minutes_{RollupLevel::kMinute, clock, renames},
          hours_{RollupLevel::kHour, clock, renames} {}

    [[nodiscard]] bool has_room(std::uint32_t row_count) const {
        return minutes_.row_count() == 0 || !is_full(minutes_, row_count);
    }
    void add(const DecodedRows& rows, std::size_t first, std::size_t last, Seq seq, bool is_next) {
        minutes_.add_rows(rows, first, last);
        minutes_.add_seq(seq, is_next);
    }

    // Makes room. False when the work ends.
    [[nodiscard]] Result<bool> take() {
        const bool is_hour_full = is_full(hours_, minutes_.sum_count()) || made_sums_ > maker_.policy_.sums_max;
        hours_.add_sums(minutes_);
        if (maker_.is_worth_it(minutes_)) {
            made_.push_back(minutes_.rollup(source_.epoch));
            made_sums_ += minutes_.sum_count();
        }
        minutes_.clear();
        return is_hour_full ? finish() : Result<bool>{true};
    }

    // Likewise, of all that was added.
    [[nodiscard]] Result<bool> finish() {
        if (minutes_.row_count() != 0) {
            if (auto taken = take(); !taken.ok() || !*taken) {
                return taken;
            }
        }
        if (hours_.row_count() == 0) {
            return true;
        }
        auto written = maker_.write(source_, hours_, made_);
        hours_.clear();
        made_.clear();
        made_sums_ = 0;
        return written;
    }

private:
    [[nodiscard]] bool is_full(const RollupSums& sums, std::size_t more_sums) const {
        return sums.sum_count() + more_sums > maker_.policy_.sums_max ||
               sums.cell_count() >= limits::kRollupCellsMax / 2 ||
               sums.seqs().size() >= limits::kRollupSeqRangesMax / 2;
    }

    RollupMaker& maker_;
    const Source& source_;
    RollupSums minutes_;
    RollupSums hours_;
    std::vector<Rollup> made_;  // of minutes that are in hours_
    std::size_t made_sums_ = 0;
};

// Reads a few blocks at a time: nothing is written and nobody waits in the middle of a visit.
Result<bool> RollupMaker::roll_up_series(const Source& source, const std::vector<Named>& named, const ClockMap& clock,
                                         const Renames& renames) {
    SeriesSums sums{*this, source, clock, renames};
    DecodedRows rows;
    Seq next_block;
    std::size_t next_named = 0;  // those before were added or can't be
    for (bool has_more = true; has_more;) {
        has_more = false;
        bool is_full = false;
        std::uint32_t block_count = 0;
        auto visited = visit_readable(
            *engine_,
            series_blocks_range(partition_, source.session.target, source.session.session, source.series, next_block),
            [&](std::string_view key, std::string_view value) {
                const auto name = decode_block_key(key);
                if (name.ok() && block_count++ == kBlocksAStep) {
                    next_block = name->first_seq;
                    has_more = true;
                    return Visit::kStop;
                }
                const auto block = parse_block_untrusted(value);
                if (!name.ok() || !block.ok() || block->header.series != source.series ||
                    block->header.epoch != source.epoch || !add_block(*block, named, next_named, rows, sums)) {
                    return Visit::kContinue;
                }
                next_block = name->first_seq;  // the rest of it comes again
                has_more = is_full = true;
                return Visit::kStop;
            },
            [](const DamagedRange&) {});
        if (!visited.ok()) {
            return visited.error();
        }
        if (is_full) {
            if (auto taken = sums.take(); !taken.ok() || !*taken) {
                return taken;
            }
        }
        if (!tell({.partition = partition_})) {
            return false;
        }
    }
    return sums.finish();
}

// Adds the rows of the block's batches from `next_named` on, which moves behind them. True when there was no room for
// all.
bool RollupMaker::add_block(const BlockView& block, const std::vector<Named>& named, std::size_t& next_named,
                            DecodedRows& rows, SeriesSums& sums) {
    constexpr std::array kWanted{ColumnId::kTime, ColumnId::kPid, ColumnId::kTid, ColumnId::kStack, ColumnId::kWeight};
    const BlockPart whole{block.header.first_seq, block.header.row_count};
    const std::span<const BlockPart> parts = block.parts.empty() ? std::span{&whole, 1} : std::span{block.parts};
    bool is_decoded = false;
    std::size_t row = 0;
    for (const BlockPart& part : parts) {
        const std::size_t first = std::exchange(row, row + part.row_count);
        const auto at = std::lower_bound(named.begin() + static_cast<std::ptrdiff_t>(next_named), named.end(), part.seq,
                                         [](const Named& one, Seq seq) { return one.seq < seq; });
        if (at == named.end() || at->seq != part.seq || at->row_count != part.row_count || at->is_covered ||
            at->is_left) {
            continue;
        }
        if (!sums.has_room(part.row_count)) {
            return true;
        }
        if (!is_decoded && !rows.decode(block, kWanted).ok()) {
            return false;
        }
        is_decoded = true;
        const auto index = static_cast<std::size_t>(at - named.begin());
        sums.add(rows, first, row, part.seq, index == next_named);
        next_named = index + 1;
    }
    return false;
}

Result<bool> RollupMaker::write(const Source& source, const RollupSums& hours, const std::vector<Rollup>& minutes) {
    if (!is_worth_it(hours)) {
        return tell({.partition = partition_, .rows_left = hours.row_count()});
    }
    Changes changes;
    std::vector<std::string> values;
    values.reserve(minutes.size() + 1);
    const auto add = [&](RollupLevel level, const Rollup& rollup) {
        values.push_back(encode_rollup(rollup));
        changes.puts.push_back({rollup_key({partition_, source.session.target, source.session.session, source.series,
                                            level, rollup.seqs.front().first}),
                                values.back()});
    };
    for (const Rollup& rollup : minutes) {
        add(RollupLevel::kMinute, rollup);
    }
    add(RollupLevel::kHour, hours.rollup(source.epoch));
    auto written = commit_(changes);
    if (!written.ok()) {
        return written;
    }
    if (!*written) {
        ended_ = Joiner::Outcome::kOvertaken;
        return false;
    }
    JoinStep step{.partition = partition_, .rollups = changes.puts.size(), .rollup_rows = hours.row_count()};
    for (const Changes::Put& put : changes.puts) {
        step.rollup_bytes += put.key.size() + put.value.size();
    }
    return tell(step);
}

bool RollupMaker::tell(const JoinStep& step) {
    if (on_step_(step) == Visit::kStop) {
        ended_ = Joiner::Outcome::kStopped;
        return false;
    }
    return true;
}

}  // namespace perfleet
