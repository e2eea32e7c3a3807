#include "storage/store/expired_rows.h"

#include <algorithm>

#include "storage/engine/damaged_reads.h"
#include "storage/model/record.h"

namespace perfleet {

void ExpiredRows::add(const BatchKey& key, const BatchRecord& batch) {
    for (const BatchRecord::Rows& series : batch.rows) {
        rows_[{key.target, key.session, series.series}] += series.row_count;
    }
    auto [at, is_new] = watermarks_.try_emplace({key.target, key.session});
    if (is_new) {
        auto watermark = reads_->watermark(key.target, key.session);
        if (!watermark.ok() && !is_damage(watermark.error())) {
            error_ = watermark.error();
            return;
        }
        at->second = watermark.ok() ? *watermark : Seq{0};
    }
    if (key.seq > at->second) {
        changes_->put(expired_batch_key(key), encode_record(ExpiredBatch{batch.seal, {}}));
    }
}

Result<std::uint64_t> ExpiredRows::finish() {
    if (error_) {
        return *error_;
    }
    std::uint64_t sum = 0;
    for (const auto& [name, row_count] : rows_) {
        const auto& [target, session, series] = name;
        const auto before = PERFLEET_TRY(unless_damaged(reads_->expired_rows(target, session, series, partition_)));
        changes_->put(expired_key(target, session, series, partition_),
                      encode_record(std::max(row_count, before.value_or(0))));
        sum += is_definition(series.kind) ? 0 : row_count;
    }
    return sum;
}

}  // namespace perfleet
