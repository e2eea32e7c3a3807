// What stands between peers and the store: a batch that passes keeps every promise that storage and queries rely on.
#pragma once

#include "gateway/admission/column_check.h"
#include "gateway/admission/untrusted.h"
#include "gateway/counts/gateway_counts.h"
#include "schemas/vocabulary/error.h"
#include "storage/model/batch.h"
#include "storage/model/session.h"

namespace perfleet {

// One thread; keeps its memory for the next batch.
class BatchAdmission {
public:
    // `session` is the one that the batch names. Limits of vocabulary/batch_limits.h, kinds, events, columns and their
    // values, seal, ticks, counts and ranges are checked. Errors: kTooLarge (past a limit), else whatever is wrong, in
    // words.
    [[nodiscard]] Result<AdmittedBatch> admit(const BatchUntrusted& batch_untrusted, const SessionRecord& session);

    // Why the last admit() failed, as it is counted.
    [[nodiscard]] BatchRefusal refusal() const { return refusal_; }

private:
    [[nodiscard]] Result<Done> check(const BatchUntrusted& batch, const SessionRecord& session);

    ColumnCheck columns_;
    BatchRefusal refusal_{};
};

// Hours ahead of the clock, which may be wrong.
[[nodiscard]] bool lies_ahead(BucketNumber bucket, UtcNs now);

// The end of `session`, under the same rules.
[[nodiscard]] Result<SessionEnd> admit_bye(const ByeUntrusted& bye_untrusted, const SessionRecord& session);

}  // namespace perfleet
