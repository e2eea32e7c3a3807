#include "query-engine/statistic/latency/latency_sketch.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "query-engine/statistic/answer/answer_row.h"
#include "query-engine/statistic/number/quantile.h"

namespace perfleet {
namespace {

void add_rows(RowBlock& block, ValueDistribution& values) {
    if (!block.decode_more(std::array{ColumnId::kValue})) {
        return;
    }
    const std::span<const std::uint64_t> rows = block.rows.integers(ColumnId::kValue);
    for (const std::uint64_t value : rows) {
        values.sketch.add(value);
    }
    values.moments.add(rows);
}

}  // namespace

Result<ValueDistribution> read_distribution(const Scan& scan, const ValueSource& source) {
    ValueDistribution values;
    if (source.group || source.skipped_tests != 0) {  // stored sums can't leave out the first values
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
        PERFLEET_TRY(scan.visit_rows_in_parallel(
            source.session_index, epoch, source.series, {}, scan.worker_count(),
            [&](unsigned worker, RowBlock& block) { add_rows(block, of_workers[worker]); }));
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
