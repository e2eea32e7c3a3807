#include "tools/perfleet/import/session/stored_session_writer.h"

#include <algorithm>
#include <span>
#include <utility>
#include <variant>

#include "gateway/admission/receipt.h"
#include "tools/perfleet/import/session/import_limits.h"

namespace perfleet {

StoredSessionWriter::StoredSessionWriter(SessionRecord record, UtcNs now, Store& store, std::string conflict_hint,
                                         BatchPlacement placement)
    : SessionWriter{std::move(record)},
      now_{now},
      store_{store},
      conflict_hint_{std::move(conflict_hint)},
      placement_{placement} {
    const auto before = store_.session(record_.target, record_.session);
    if (before.ok() && before->has_value()) {
        record_.start_point = (*before)->start_point;
        record_.received = (*before)->received;
    } else if (record_.received.value == 0) {
        record_.received = now;
    }
}

Result<Done> StoredSessionWriter::put(const SealedRecord& /*header*/, std::span<const std::byte> message) {
    const auto decoded = PERFLEET_TRY(decoder_.decode(message));
    return put(std::get<BatchUntrusted>(decoded));
}

Result<Done> StoredSessionWriter::put_image(std::string_view build_id, ImageContent content) {
    return store_.put_image(build_id, std::move(content));
}

Result<Done> StoredSessionWriter::end(const SessionEnd& end) {
    PERFLEET_TRY(this->end(ByeUntrusted{record_.session, end.last_seq, end.counts, end.dropped, end.end_point}));
    return is_sync_deferred_ ? store_.advance_watermark(record_.target, record_.session, last_seq_) : sync();
}

Result<Done> StoredSessionWriter::put(const BatchUntrusted& batch_untrusted) {
    BatchUntrusted batch = batch_untrusted;
    move_into_session(batch, record_);
    auto admitted = PERFLEET_TRY(admission_.admit(batch, record_));
    const bool is_by_epoch = placement_ == BatchPlacement::kByEpoch;
    if (!is_by_epoch && lies_ahead(admitted.record.bucket, now_)) {
        return Error{ErrorCode::kInvalid, "a batch of the future, by this machine's clock"};
    }
    if (is_by_epoch) {
        admitted.record.bucket = BucketNumber{batch.header.epoch.value};
    }
    const Partition partition = partition_of(record_.target, admitted.record.bucket, 0, store_.shards());
    if (defined_.insert(partition).second) {
        PERFLEET_TRY(store_.define(partition, record_));
    }
    const auto outcomes = PERFLEET_TRY(store_.put(partition, std::span{&admitted, 1}));
    PERFLEET_TRY(count(outcomes.front(), batch));
    last_seq_ = std::max(last_seq_, batch.header.seq);
    return ++batches_ % kSyncBatches == 0 ? sync() : Done{};
}

Result<Done> StoredSessionWriter::count(PutOutcome outcome, const BatchUntrusted& batch) {
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

Result<Done> StoredSessionWriter::end(const ByeUntrusted& bye) {
    const auto end = PERFLEET_TRY(admit_bye(bye, record_));
    if (defined_.empty()) {  // a session without a batch
        PERFLEET_TRY(store_.define(partition_of(record_.target, bucket_of(now_), 0, store_.shards()), record_));
    }
    last_seq_ = std::max(last_seq_, end.last_seq);
    stored_.has_end = true;
    return store_.end_session(record_.target, record_.session, end);
}

Result<Done> StoredSessionWriter::sync() {
    PERFLEET_TRY(store_.advance_watermark(record_.target, record_.session, last_seq_));
    return store_.sync();
}

Result<std::unique_ptr<SessionWriter>> StoreDestination::begin(SessionRecord record, UtcNs now) {
    auto writer = std::make_unique<StoredSessionWriter>(std::move(record), now, store_, "");
    if (is_sync_deferred_) {
        writer->defer_sync();
    }
    return std::unique_ptr<SessionWriter>{std::move(writer)};
}

Result<bool> StoreDestination::has_ended(TargetId target, SessionId session) const {
    const auto end = PERFLEET_TRY(store_.session_end(target, session));
    return end.has_value();
}

}  // namespace perfleet
