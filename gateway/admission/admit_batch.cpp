#include "gateway/admission/admit_batch.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "gateway/admission/intake_limits.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/clock_claim.h"
#include "schemas/vocabulary/kinds.h"
#include "storage/block/batch_blocks.h"
#include "storage/clock/clock_map.h"

namespace perfleet {
namespace {

Error too_large(const std::string& what, std::uint64_t value, std::uint64_t value_max) {
    return Error{ErrorCode::kTooLarge,
                 what + ": " + std::to_string(value) + ", at most " + std::to_string(value_max) + " are allowed"};
}

Result<Done> check_series_name(Series series, const SessionRecord& session) {
    if (!is_known_kind(static_cast<std::uint8_t>(series.kind))) {
        return Error{ErrorCode::kUnsupported, "unknown kind " + std::to_string(static_cast<unsigned>(series.kind)) +
                                                  "; if the collector is newer than this gateway, update the gateway"};
    }
    if (series.event != kNoEvent && series.event.value >= session.events.size()) {
        return invalid("event " + std::to_string(series.event.value) + ", but the session has " +
                       std::to_string(session.events.size()));
    }
    return Done{};
}

Result<Done> check_counts(std::span<const CountEntry> counts, const SessionRecord& session) {
    std::vector<std::pair<Series, CountName>> names;
    names.reserve(counts.size());
    for (const CountEntry& entry : counts) {
        PERFLEET_TRY(check_series_name(entry.series, session));
        if (static_cast<std::uint16_t>(entry.name) == 0) {
            return invalid("a count without a name");
        }
        names.emplace_back(entry.series, entry.name);
    }
    std::sort(names.begin(), names.end());
    if (std::adjacent_find(names.begin(), names.end()) != names.end()) {
        return invalid("a count that is there twice");
    }
    return Done{};
}

// Checks dropped ranges; `last` is the largest seq that the collector may have dropped.
Result<Done> check_ranges(std::span<const SeqRange> ranges, std::uint64_t last) {
    for (const SeqRange& range : ranges) {
        if (range.first.value == 0 || range.first > range.last || range.last.value > last) {
            return invalid("a dropped range of " + std::to_string(range.first.value) + " to " +
                           std::to_string(range.last.value) + " where the last seq is " + std::to_string(last));
        }
    }
    return Done{};
}

Result<Done> check_numbers(const BatchUntrusted& batch, const SessionRecord& session) {
    if (batch.header.session != session.session) {
        return invalid("a batch of another session");
    }
    if (batch.header.seq.value == 0) {
        return invalid("seq 0; batches are numbered from 1");
    }
    if (batch.oldest_retained_seq > batch.header.seq.value) {
        return invalid("an oldest retained seq after the batch itself");
    }
    if (batch.header.bucket > bucket_of(UtcNs{std::numeric_limits<std::int64_t>::max()})) {
        return invalid("bucket " + std::to_string(batch.header.bucket.value) + " is after the end of time");
    }
    return Done{};
}

Result<Done> check_seal(const BatchUntrusted& batch) {
    const std::uint32_t seal = seal_of(batch.header, batch.series, batch.counts, batch.dropped, batch.clock_points);
    if (seal != batch.seal) {
        return Error{ErrorCode::kCorrupt,
                     "the seal is " + std::to_string(batch.seal) + ", but the content has " + std::to_string(seal)};
    }
    return Done{};
}

Result<Done> check_rows(const SeriesView& rows, const SessionRecord& session) {
    PERFLEET_TRY(check_series_name(rows.series, session));
    const std::string kind{kind_name(rows.series.kind)};
    if (rows.row_count == 0) {
        return invalid(kind + " series without rows");
    }
    if (rows.row_count > limits::kBatchRowsMax) {
        return too_large("rows of a " + kind + " series", rows.row_count, limits::kBatchRowsMax);
    }
    if (traits_of(rows.series.kind).needs_event && rows.series.event == kNoEvent) {
        return invalid(kind + " rows without an event");
    }
    if (is_definition(rows.series.kind) && rows.series.event != kNoEvent) {
        return invalid(kind + " definitions with an event");
    }
    return Done{};
}

// Before columns are read: decoding a repeated series each time would cost too much.
Result<Done> check_series(std::span<const SeriesView> all) {
    for (std::size_t i = 0; i < all.size(); ++i) {
        const Series series = all[i].series;
        const auto is_same = [&](const SeriesView& other) { return other.series == series; };
        if (std::any_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i), is_same)) {
            return invalid("the " + std::string{kind_name(series.kind)} + " series of event " +
                           std::to_string(series.event.value) + " is there twice");
        }
    }
    return Done{};
}

}  // namespace

Result<Done> BatchAdmission::check(const BatchUntrusted& batch, const SessionRecord& session) {
    refusal_ = BatchRefusal::kUnreadable;
    if (batch.fault.has_value()) {
        return Error{*batch.fault};
    }
    refusal_ = BatchRefusal::kHeader;
    PERFLEET_TRY(check_numbers(batch, session));
    refusal_ = BatchRefusal::kCounters;
    PERFLEET_TRY(check_counts(batch.counts, session));
    refusal_ = BatchRefusal::kRange;
    PERFLEET_TRY(check_ranges(batch.dropped, batch.header.seq.value - 1));
    refusal_ = BatchRefusal::kSeal;
    PERFLEET_TRY(check_seal(batch));
    refusal_ = BatchRefusal::kSeries;
    PERFLEET_TRY(check_series(batch.series));
    for (const SeriesView& rows : batch.series) {
        refusal_ = BatchRefusal::kSeries;
        PERFLEET_TRY(check_rows(rows, session));
        refusal_ = BatchRefusal::kColumn;
        PERFLEET_TRY(columns_.check(rows));
    }
    return Done{};
}

Result<AdmittedBatch> BatchAdmission::admit(const BatchUntrusted& batch_untrusted, const SessionRecord& session) {
    const BatchUntrusted& batch = batch_untrusted;
    if (auto checked = check(batch, session); !checked) {
        if (checked.error().code == ErrorCode::kTooLarge) {
            refusal_ = BatchRefusal::kTooLarge;
        } else if (checked.error().code == ErrorCode::kUnsupported) {
            // A damaged batch only looks like one from a newer collector.
            refusal_ = check_seal(batch).ok() ? BatchRefusal::kNewer : BatchRefusal::kSeal;
        }
        return std::move(checked).error();
    }
    refusal_ = BatchRefusal::kSeries;
    SealedBatch sealed;
    sealed.target = session.target;
    sealed.header = batch.header;
    sealed.seal = batch.seal;
    sealed.oldest_retained_seq = batch.oldest_retained_seq;
    sealed.series = batch.series;
    sealed.counts = batch.counts;
    sealed.dropped = batch.dropped;
    sealed.clock_points = batch.clock_points;
    return make_admitted_batch(sealed);  // refuses a repeated series
}

bool lies_ahead(BucketNumber bucket, UtcNs now) {
    return bucket.value > std::uint64_t{bucket_of(now).value} + intake_limits::kBucketsAheadMax;
}

Result<SessionEnd> admit_bye(const ByeUntrusted& bye_untrusted, const SessionRecord& session) {
    const ByeUntrusted& bye = bye_untrusted;
    if (bye.session != session.session) {
        return invalid("a Bye of another session");
    }
    PERFLEET_TRY(check_counts(bye.counts, session));
    PERFLEET_TRY(check_ranges(bye.dropped, bye.last_seq.value));
    SessionEnd end{
        bye.last_seq, {bye.counts.begin(), bye.counts.end()}, {bye.dropped.begin(), bye.dropped.end()}, bye.end_point};
    if (!is_claim(end.end_point.utc_ns)) {
        const ClockMap clock{session.ticks_per_second, {session.start_point}};
        end.end_point.utc_ns = clock.utc_of(end.end_point.ticks);
        end.end_point.uncertainty_ns = session.start_point.uncertainty_ns;
    }
    return end;
}

}  // namespace perfleet
