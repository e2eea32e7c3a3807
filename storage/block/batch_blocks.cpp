#include "storage/block/batch_blocks.h"

#include <algorithm>
#include <string>

#include "schemas/vocabulary/batch_limits.h"
#include "storage/block/block.h"
#include "storage/limits/store_limits.h"

namespace perfleet {
namespace {

Error refusal(ErrorCode code, Series series, const std::string& what) {
    return Error{
        code, "series " + std::string{kind_name(series.kind)} + "/" + std::to_string(series.event.value) + ": " + what};
}

Result<Done> check(const SeriesView& rows) {
    if (!is_known_kind(static_cast<std::uint8_t>(rows.series.kind))) {
        return refusal(ErrorCode::kInvalid, rows.series, "unknown kind");
    }
    if (rows.row_count > limits::kBlockRowsMax) {
        return refusal(ErrorCode::kTooLarge, rows.series, std::to_string(rows.row_count) + " rows");
    }
    if (rows.columns.size() > limits::kColumnsMax) {
        return refusal(ErrorCode::kTooLarge, rows.series, std::to_string(rows.columns.size()) + " columns");
    }
    if (rows.first_ticks > rows.last_ticks) {
        return refusal(ErrorCode::kInvalid, rows.series, "its first ticks are after its last");
    }
    for (std::size_t i = 0; i < rows.columns.size(); ++i) {
        if (rows.columns[i].bytes.size() > limits::kBatchSizeBytesMax) {
            return refusal(ErrorCode::kTooLarge, rows.series, "a column of more bytes than a batch");
        }
        for (std::size_t j = 0; j < i; ++j) {
            if (rows.columns[i].id == rows.columns[j].id) {
                return refusal(ErrorCode::kInvalid, rows.series,
                               "column " + std::string{column_name(rows.columns[i].id)} + " is there twice");
            }
        }
    }
    return Done{};
}

}  // namespace

Result<AdmittedBatch> make_admitted_batch(const SealedBatch& batch) {
    AdmittedBatch admitted;
    admitted.key = {batch.target, batch.header.session, batch.header.seq};
    admitted.record.seq = batch.header.seq;
    admitted.record.epoch = batch.header.epoch;
    admitted.record.bucket = batch.header.bucket;
    admitted.record.seal = batch.seal;
    admitted.record.oldest_retained_seq = batch.oldest_retained_seq;
    admitted.record.counts.assign(batch.counts.begin(), batch.counts.end());
    admitted.record.dropped.assign(batch.dropped.begin(), batch.dropped.end());
    admitted.record.clock_points.assign(batch.clock_points.begin(), batch.clock_points.end());
    admitted.series.reserve(batch.series.size());
    admitted.record.rows.reserve(batch.series.size());
    for (const SeriesView& rows : batch.series) {
        PERFLEET_TRY(check(rows));
        if (std::any_of(admitted.series.begin(), admitted.series.end(),
                        [&](const BatchSeries& other) { return other.series == rows.series; })) {
            return refusal(ErrorCode::kInvalid, rows.series, "is there twice");
        }
        const BlockHeader header{rows.series,    batch.header.epoch, batch.header.seq, batch.header.seq,
                                 rows.row_count, rows.first_ticks,   rows.last_ticks};
        admitted.series.push_back(
            {rows.series, rows.row_count, rows.first_ticks, rows.last_ticks, encode_block(header, rows.columns)});
        admitted.record.rows.push_back({rows.series, rows.row_count, rows.first_ticks, rows.last_ticks});
    }
    return admitted;
}

}  // namespace perfleet
