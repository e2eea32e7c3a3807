#include "tools/perfleet/import/session_writer.h"

#include <algorithm>
#include <span>
#include <utility>

#include "tools/perfleet/import/import_limits.h"

namespace perfleet {

SessionWriter::SessionWriter(SessionRecord record, UtcNs now, Store& store, std::string conflict_hint)
    : record_{std::move(record)}, now_{now}, store_{store}, conflict_hint_{std::move(conflict_hint)} {
    stored_.session = record_.session;
    stored_.target_name = record_.target_name;
}

Result<Done> SessionWriter::put(const BatchUntrusted& batch) {
    auto admitted = PERFLEET_TRY(admission_.admit(batch, record_));
    if (lies_ahead(admitted.record.bucket, now_)) {
        return Error{ErrorCode::kInvalid, "a batch of the future, by this machine's clock"};
    }
    const Partition partition = partition_of(record_.target, batch.header.bucket, 0, store_.shards());
    if (defined_.insert(partition).second) {
        PERFLEET_TRY(store_.define(partition, record_));
    }
    const auto outcomes = PERFLEET_TRY(store_.put(partition, std::span{&admitted, 1}));
    PERFLEET_TRY(count(outcomes.front(), batch));
    last_seq_ = std::max(last_seq_, batch.header.seq);
    return ++batches_ % kSyncBatches == 0 ? sync() : Done{};
}

Result<Done> SessionWriter::count(PutOutcome outcome, const BatchUntrusted& batch) {
    switch (outcome) {
        case PutOutcome::kStored:
            ++stored_.batches_stored;
            for (const SeriesView& rows : batch.series) {
                stored_.row_count += is_definition(rows.series.kind) ? 0 : rows.row_count;
            }
            break;
        case PutOutcome::kDuplicate: ++stored_.batches_there; break;
        case PutOutcome::kExpired: ++stored_.batches_expired; break;
        case PutOutcome::kConflict:
            return Error{ErrorCode::kConflict, "batch " + std::to_string(batch.header.seq.value) +
                                                   " of this session is in the store with other content" +
                                                   conflict_hint_};
    }
    return Done{};
}

Result<Done> SessionWriter::end(const ByeUntrusted& bye) {
    const auto end = PERFLEET_TRY(admit_bye(bye, record_));
    if (defined_.empty()) {  // a session without a batch
        PERFLEET_TRY(store_.define(partition_of(record_.target, bucket_of(now_), 0, store_.shards()), record_));
    }
    last_seq_ = std::max(last_seq_, end.last_seq);
    stored_.has_end = true;
    return store_.end_session(record_.target, record_.session, end);
}

Result<Done> SessionWriter::sync() {
    PERFLEET_TRY(store_.advance_watermark(record_.target, record_.session, last_seq_));
    return store_.sync();
}

}  // namespace perfleet
