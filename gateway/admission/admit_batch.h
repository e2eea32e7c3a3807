// Admits batches from peers to the store. An admitted batch keeps every promise that storage and queries rely on.
#pragma once

#include "gateway/admission/column_check.h"
#include "gateway/admission/untrusted.h"
#include "gateway/counts/gateway_counts.h"
#include "schemas/session/session_record.h"
#include "schemas/vocabulary/error.h"
#include "storage/model/batch.h"

namespace perfleet {

// One thread; keeps its memory for the next batch.
class BatchAdmission {
public:
    // `session` is the one that the batch names. Checks the limits of vocabulary/batch_limits.h, kinds, events, columns
    // and their values, seal, ticks, counts and ranges. Errors: kTooLarge (past a limit); else a code and a sentence
    // that names what is wrong.
    [[nodiscard]] Result<AdmittedBatch> admit(const BatchUntrusted& batch_untrusted, const SessionRecord& session);

    // The reason of the last admit() that failed, for counters.
    [[nodiscard]] BatchRefusal refusal() const { return refusal_; }

private:
    [[nodiscard]] Result<Done> check(const BatchUntrusted& batch, const SessionRecord& session);

    ColumnCheck columns_;
    BatchRefusal refusal_{};
};

// Whether `bucket` is more than kBucketsAheadMax hours later than `now`. Either clock may be wrong.
[[nodiscard]] bool lies_ahead(BucketNumber bucket, UtcNs now);

// The end of `session`; counts and ranges are checked as those of a batch. Errors: as admit().
[[nodiscard]] Result<SessionEnd> admit_bye(const ByeUntrusted& bye_untrusted, const SessionRecord& session);

}  // namespace perfleet
