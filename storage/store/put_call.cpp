#include "storage/store/put_call.h"

#include "schemas/vocabulary/assert.h"
#include "storage/limits/store_limits.h"
#include "storage/model/record.h"

namespace perfleet {
namespace {

PutOutcome outcome_of_repeat(std::uint32_t known_seal, std::uint32_t seal) {
    return known_seal == seal ? PutOutcome::kDuplicate : PutOutcome::kConflict;
}

void check_caller(const Partition& partition, const AdmittedBatch& batch) {
    PERFLEET_ASSERT(batch.record.seq == batch.key.seq);
    PERFLEET_ASSERT(batch.record.bucket == partition.bucket);
    PERFLEET_ASSERT(batch.record.rows.size() == batch.series.size());
    for (std::size_t i = 0; i < batch.series.size(); ++i) {
        PERFLEET_ASSERT(batch.record.rows[i].series == batch.series[i].series);
        PERFLEET_ASSERT(batch.record.rows[i].row_count == batch.series[i].row_count);
    }
}

}  // namespace

PutCall::~PutCall() {
    for (const auto& [session, seq] : reported_) {
        session->seals.erase(seq);
    }
}

Result<PutOutcome> PutCall::judge(const AdmittedBatch& batch) {
    check_caller(partition_, batch);
    auto session = PERFLEET_TRY(known_->session(batch.key.target, batch.key.session));
    KnownSession& known = *session;
    if (batch.key.seq <= known.watermark) {
        return judge_resolved(batch, known);
    }
    if (const auto found = known.seals.find(batch.key.seq.value); found != known.seals.end()) {
        return outcome_of_repeat(found->second, batch.record.seal);
    }
    if (known.seals.size() >= limits::kStoreSeqsMax) {
        return Error{ErrorCode::kFull, describe_key(session_key(Table::kSession, batch.key.target, batch.key.session)) +
                                           " has " + std::to_string(known.seals.size()) +
                                           " batches above its watermark: advance it first"};
    }
    const bool is_expired = is_dropped_ || known.is_removed;
    if (is_expired) {
        add_expired(batch);
    } else if (known.partitions.contains(partition_)) {
        add_stored(batch);
    } else {
        return Error{ErrorCode::kInvalid,
                     describe_key(partition_session_key(partition_, batch.key.target, batch.key.session)) +
                         " is missing: define the session before its rows"};
    }
    known.seals.emplace(batch.key.seq.value, batch.record.seal);
    reported_.emplace_back(&known, batch.key.seq.value);
    return is_expired ? PutOutcome::kExpired : PutOutcome::kStored;
}

// At or below the watermark a batch is resolved for good: stored, expired, refused, or dropped by the collector. A
// batch that is sent again is mostly in the newest partition.
Result<PutOutcome> PutCall::judge_resolved(const AdmittedBatch& batch, const KnownSession& known) {
    for (auto at = known.partitions.rbegin(); at != known.partitions.rend(); ++at) {
        auto record = reads_->batch(*at, batch.key);
        if (!record.ok() && is_damage(record.error())) {
            continue;  // resolved even if its record is damaged
        }
        if (!record.ok()) {
            return record.error();
        }
        if (record->has_value()) {
            return outcome_of_repeat((*record)->seal, batch.record.seal);
        }
    }
    auto seal = PERFLEET_TRY(reads_->expired_batch_seal(batch.key));
    return seal.has_value() ? outcome_of_repeat(*seal, batch.record.seal) : PutOutcome::kDuplicate;
}

void PutCall::add_stored(const AdmittedBatch& batch) {
    stored_.push_back({batch.key.target, batch.key.session});
    changes_.put(partition_batch_key(partition_, batch.key), encode_record(batch.record));
    for (const BatchSeries& series : batch.series) {
        changes_.changes.puts.push_back(
            {block_key({partition_, batch.key.target, batch.key.session, series.series, batch.key.seq}), series.block});
    }
}

void PutCall::add_expired(const AdmittedBatch& batch) {
    ExpiredBatch expired;
    expired.seal = batch.record.seal;
    for (const BatchSeries& series : batch.series) {
        expired.rows.emplace_back(series.series, series.row_count);
    }
    expired_.put(expired_batch_key(batch.key), encode_record(expired));
}

}  // namespace perfleet
