// Times of a session by its receiver's clock: when it was first received and, if its target has no time of day, when it
// began.
//
// Values; no errors.
#pragma once

#include "gateway/admission/untrusted.h"
#include "schemas/session/session_record.h"
#include "schemas/vocabulary/time.h"

namespace perfleet {

// Fills in a session that wasn't known before: it is received at `now`. `clock` is the reading of its own clock at that
// time; 0: unknown, as from collectors whose Hello may come days later. The start becomes `now` minus the ticks since
// then if the target claims no time (schemas/vocabulary/clock_claim.h) or, with a `clock`, if its claim isn't near
// `now`.
void take_receipt(SessionRecord& record, Ticks clock, UtcNs now);

// Whether two descriptions are of the same session. Labels, time of receipt and the UTC of the start aren't compared:
// they may differ between receipts.
[[nodiscard]] bool are_of_one_session(const SessionRecord& one, SessionRecord other);

// If the session's start was computed from its receipt, the target has sealed its first rows in an hour long before the
// session: moves such a batch into the hour in which the session began. The batch is sealed anew only if its seal is
// right; a damaged one is refused later, by admission.
void move_into_session(BatchUntrusted& batch, const SessionRecord& session);

}  // namespace perfleet
