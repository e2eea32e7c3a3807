#include "query-engine/statistic/latency_sketch.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "query-engine/statistic/answer_row.h"
#include "query-engine/statistic/number/quantile.h"

namespace perfleet {
namespace {

// Adds the cells of a rollup that lie in the range; what lies across its ends is left to the blocks. Does nothing where
// a cell is across that `may_cut` says none may be.
void add_rollup(const ValueRollup& rollup, bool may_cut, TickRange range, ValueDistribution& values, RowsLeft& left,
                ScanSources& sources) {
    std::vector<TickRange> edges;
    for (const ValueRollup::Cell& cell : rollup.cells) {
        if (side_of(cell.first_ticks, cell.last_ticks, range) == Side::kAcross) {
            edges.emplace_back(std::max(range.first, cell.from), std::min(range.second, cell.until));
        }
    }
    if (!edges.empty() && !may_cut) {
        return;
    }
    std::uint64_t row_count = 0;
    std::uint32_t bucket = 0;
    for (const ValueRollup::Cell& cell : rollup.cells) {
        if (side_of(cell.first_ticks, cell.last_ticks, range) == Side::kInside) {
            values.moments.merge(cell.moments);
            row_count += cell.moments.count();
            for (; bucket < cell.buckets_end; ++bucket) {
                values.sketch.add_bucket(rollup.buckets[bucket].number, rollup.buckets[bucket].row_count);
            }
        }
        bucket = cell.buckets_end;
    }
    left.cover(rollup.seqs, std::move(edges));
    if (row_count != 0) {
        sources.add_rollup(row_count);
    }
}

Result<RowsLeft> add_rollups(const Scan& scan, const ValueSource& source, EpochNumber epoch,
                             ValueDistribution& values) {
    const TickRange range = scan.tick_range(source.session_index);
    RowsLeft left{range};
    for (const RollupLevel level : {RollupLevel::kHour, RollupLevel::kMinute}) {
        PERFLEET_TRY(scan.visit_value_rollups(
            source.session_index, epoch, source.series, level,
            [&](const RollupCover& cover) { return !left.is_covered(cover.seqs); },
            [&](const ValueRollup& rollup) {
                add_rollup(rollup, level == RollupLevel::kMinute, range, values, left, scan.sources());
            }));
    }
    return left;
}

void add_rows(RowBlock& block, ValueDistribution& values) {
    const auto rows = block.rows.integers(ColumnId::kValue);
    const auto times = block.rows.integers(ColumnId::kTime);
    std::vector<std::uint64_t> inside;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (std::any_of(block.wanted_ticks.begin(), block.wanted_ticks.end(), [&](const TickRange& range) {
                return Ticks{times[i]} >= range.first && Ticks{times[i]} < range.second;
            })) {
            inside.push_back(rows[i]);
            values.sketch.add(rows[i]);
        }
    }
    values.moments.add(inside);
}

}  // namespace

Result<ValueDistribution> read_distribution(const Scan& scan, const ValueSource& source) {
    ValueDistribution values;
    if (source.group || source.skipped_tests != 0) {  // sums don't know which values were the first
        const auto read = source.pieces(scan)([&](std::span<const std::uint64_t> piece) {
            std::for_each(piece.begin(), piece.end(), [&](std::uint64_t value) { values.add(value); });
        });
        return read.ok() ? Result<ValueDistribution>{std::move(values)} : Error{read.error()};
    }
    std::vector<ValueDistribution> of_workers(scan.worker_count());
    for (const EpochNumber epoch : scan.sessions()[source.session_index].epochs) {
        if (!scan.has_rows(source.session_index, epoch, source.series)) {
            continue;
        }
        const auto left = PERFLEET_TRY(add_rollups(scan, source, epoch, values));
        constexpr std::array kWanted{ColumnId::kTime, ColumnId::kValue};
        PERFLEET_TRY(scan.visit_rows_in_parallel(source.session_index, epoch, source.series, left, scan.worker_count(),
                                                 [&](unsigned worker, RowBlock& block) {
                                                     if (block.decode_more(kWanted)) {
                                                         add_rows(block, of_workers[worker]);
                                                     }
                                                 }));
    }
    for (const ValueDistribution& part : of_workers) {
        values.merge(part);
    }
    return values;
}

void add_sketch_row(const Scan& scan, const ValueSource& source, const ValueDistribution& values,
                    const LatencyOptions& options, Answer& answer) {
    const Moments& moments = values.moments;
    const auto at = [&](Quantile quantile) {
        return std::clamp(values.sketch.value_at(nearest_rank(quantile, moments.count())), moments.min(),
                          moments.max());
    };
    RowMaker row{answer, source.unit};
    add_identity(row, scan, source);
    add_moments(row, moments, options.confidence);
    row.value("median", at(kMedian));
    for (const Quantile quantile : options.percentiles) {
        row.value(percentile_name(quantile), at(quantile));
    }
    row.end();
}

}  // namespace perfleet
