// A session that this process makes itself, on its way into a store: admitted as a collector's batches are.
//
// Durable after end(), and at every kSyncBatches batches. One thread. Errors: kInvalid or kTooLarge (past a limit of
// vocabulary/batch_limits.h, in words), kConflict, those of the store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gateway/admission/admit_batch.h"
#include "gateway/admission/decode.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/time.h"
#include "storage/store/store.h"
#include "target-collector/message/batch_builder.h"
#include "target-collector/message/count_table.h"
#include "target-collector/message/hello.h"

namespace perfleet {

class LocalSession {
public:
    explicit LocalSession(Store& store);

    // First: what a collector says of itself, said and heard.
    [[nodiscard]] Result<Done> admit(const HelloDescription& hello);
    [[nodiscard]] const SessionRecord& record() const { return record_; }

    // The hour of the rows that follow; those of another one are numbered anew, in an epoch of their own.
    [[nodiscard]] Result<Done> enter(BucketNumber bucket, Ticks now);

    // Raw data of tracepoints stays empty.
    [[nodiscard]] Result<Done> append(RowView row);
    // Puts the rows that wait into the store.
    [[nodiscard]] Result<Done> flush(Ticks now);

    // Rows that were produced and aren't here.
    void lose(Series series, CountName reason, std::uint64_t count);

    [[nodiscard]] Result<Done> end(const ClockPoint& end);

    [[nodiscard]] std::uint64_t row_count() const { return row_count_; }

private:
    [[nodiscard]] Partition partition() const { return partition_of(record_.target, bucket_, 0, store_.shards()); }

    Store& store_;
    std::vector<std::uint64_t> values_;
    std::vector<std::byte> bytes_;
    std::vector<std::byte> out_;
    BatchBuilder builder_;
    Decoder decoder_;
    BatchAdmission admission_;
    SessionCounts counts_;
    SessionRecord record_;
    BucketNumber bucket_{};
    EpochNumber epoch_{0};
    std::uint64_t last_seq_ = 0;
    std::uint64_t row_count_ = 0;
    bool has_bucket_ = false;
};

}  // namespace perfleet
