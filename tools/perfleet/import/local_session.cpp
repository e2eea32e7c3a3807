#include "tools/perfleet/import/local_session.h"

#include <array>
#include <variant>

#include "gateway/admission/admit_hello.h"
#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/message/bye.h"
#include "tools/perfleet/import/import_limits.h"

namespace perfleet {
namespace {

constexpr std::uint32_t kIntegerColumnsMax = 8;

}  // namespace

LocalSession::LocalSession(Store& store)
    : store_{store},
      values_(BatchBuilder::values_count(limits::kBatchRowsMax, kIntegerColumnsMax, limits::kBatchSeriesMax)),
      bytes_(1),
      out_(limits::kBatchSizeBytesMax),
      builder_{values_, bytes_, limits::kBatchRowsMax} {}

Result<Done> LocalSession::admit(const HelloDescription& hello) {
    std::vector<std::byte> frame(hello_size_bytes_max(hello));
    const auto size = write_hello(hello, frame);
    if (!size.ok()) {
        return error_from_fault(size.error(), "the run's description");
    }
    const auto message = PERFLEET_TRY(decoder_.decode(std::span{frame}.first(*size)));
    record_ = PERFLEET_TRY(admit_hello(std::get<HelloUntrusted>(message)));
    return Done{};
}

Result<Done> LocalSession::enter(BucketNumber bucket, Ticks now) {
    if (has_bucket_ && bucket == bucket_) {
        return Done{};
    }
    PERFLEET_TRY(flush(now));
    epoch_.value += has_bucket_ ? 1 : 0;
    bucket_ = bucket;
    has_bucket_ = true;
    return store_.define(partition(), record_);
}

Result<Done> LocalSession::append(RowView row) {
    const std::span<const std::byte> no_bytes[1] = {};
    if (row.series.kind == Kind::kTracepoint) {
        row.bytes = no_bytes;
    }
    if (!builder_.append(row)) {
        PERFLEET_TRY(flush(row.time));
        if (!builder_.append(row)) {
            return Error{ErrorCode::kTooLarge, "a row that fits no batch"};
        }
    }
    counts_.add(row.series, CountName::kProduced, 1);
    ++row_count_;
    return Done{};
}

Result<Done> LocalSession::flush(Ticks now) {
    if (builder_.row_count() == 0) {
        return Done{};
    }
    const BatchHeader header{record_.session, Seq{++last_seq_}, epoch_, bucket_};
    const auto size = builder_.seal(header, now, counts_.entries(), {}, {}, out_);
    if (!size.ok()) {
        return error_from_fault(size.error(), "a batch of the run");
    }
    builder_.clear();
    const auto message = PERFLEET_TRY(decoder_.decode(std::span<const std::byte>{out_}.first(*size)));
    const auto batch = PERFLEET_TRY(admission_.admit(std::get<BatchUntrusted>(message), record_));
    const auto outcomes = PERFLEET_TRY(store_.put(partition(), std::span{&batch, 1}));
    if (outcomes.front() == PutOutcome::kExpired) {
        return Error{ErrorCode::kInvalid, "the run's hour was dropped from this store; name another --time"};
    }
    if (outcomes.front() == PutOutcome::kConflict) {
        return Error{ErrorCode::kConflict, "another run with this one's id is in the store"};
    }
    if (last_seq_ % kSyncBatches == 0) {
        PERFLEET_TRY(store_.advance_watermark(record_.target, record_.session, Seq{last_seq_}));
        return store_.sync();
    }
    return Done{};
}

void LocalSession::lose(Series series, CountName reason, std::uint64_t count) {
    counts_.add(series, CountName::kProduced, count);
    counts_.add(series, reason, count);
}

Result<Done> LocalSession::end(const ClockPoint& end) {
    PERFLEET_TRY(flush(end.ticks));
    ByeDescription bye;
    bye.session = record_.session;
    bye.last_seq = Seq{last_seq_};
    bye.counts = counts_.entries();
    bye.end_point = end;
    const auto size = write_bye(bye, out_);
    if (!size.ok()) {
        return error_from_fault(size.error(), "the run's end");
    }
    const auto message = PERFLEET_TRY(decoder_.decode(std::span<const std::byte>{out_}.first(*size)));
    const auto admitted = PERFLEET_TRY(admit_bye(std::get<ByeUntrusted>(message), record_));
    PERFLEET_TRY(store_.advance_watermark(record_.target, record_.session, Seq{last_seq_}));
    PERFLEET_TRY(store_.end_session(record_.target, record_.session, admitted));
    return store_.sync();
}

}  // namespace perfleet
