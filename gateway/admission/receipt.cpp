#include "gateway/admission/receipt.h"

#include <algorithm>

#include "schemas/columns/seal.h"
#include "schemas/vocabulary/clock_claim.h"
#include "storage/clock/clock_map.h"

namespace perfleet {
namespace {

std::uint32_t seal_of(const BatchUntrusted& batch) {
    return perfleet::seal_of(batch.header, batch.series, batch.counts, batch.dropped, batch.clock_points);
}

}  // namespace

void take_receipt(SessionRecord& record, Ticks clock, UtcNs now) {
    record.received = now;
    ClockPoint& start = record.start_point;
    const bool tells_clock = clock != Ticks{0};
    const ClockMap claimed{record.ticks_per_second, {start}};
    if (is_claim(start.utc_ns) && !(tells_clock && are_at_odds(claimed.utc_of(clock), now))) {
        return;
    }
    const ClockMap received{record.ticks_per_second, {{std::max(clock, start.ticks), now, 0}}};
    const UtcNs began = received.utc_of(start.ticks);
    start.utc_ns = is_claim(began) ? began : now;
    start.uncertainty_ns = static_cast<std::uint64_t>(kReceiptUncertaintyNs);
}

bool are_of_one_session(const SessionRecord& one, SessionRecord other) {
    other.labels = one.labels;
    other.received = one.received;
    other.start_point = {other.start_point.ticks, one.start_point.utc_ns, one.start_point.uncertainty_ns};
    return other == one;
}

void move_into_session(BatchUntrusted& batch, const SessionRecord& session) {
    if (session.start_point.uncertainty_ns != static_cast<std::uint64_t>(kReceiptUncertaintyNs)) {
        return;  // the session's own start point, not one from its receipt
    }
    const BucketNumber first{std::min(bucket_of(session.start_point.utc_ns), bucket_of(session.received))};
    if (batch.fault.has_value() || batch.header.bucket >= first) {
        return;
    }
    const bool is_whole = seal_of(batch) == batch.seal;
    batch.header.bucket = first;
    batch.seal = is_whole ? seal_of(batch) : batch.seal;
}

}  // namespace perfleet
