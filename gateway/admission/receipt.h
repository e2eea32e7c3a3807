// What the clock of whoever receives a session says of it: when it was first heard of, and, where its target can't know
// that, when it began.
//
// Values; no errors.
#pragma once

#include "gateway/admission/untrusted.h"
#include "schemas/vocabulary/time.h"
#include "storage/model/session.h"

namespace perfleet {

// A session that nobody knew before is received at `now`. `clock` is what its own clock read then; 0: not told, as by
// collectors whose Hello may come days later. The start becomes `now` less the ticks since then where the target has
// claimed none (schemas/vocabulary/clock_claim.h), or, with a clock, where the claim isn't near `now`.
void take_receipt(SessionRecord& record, Ticks clock, UtcNs now);

// Whether two descriptions are of one session: what was received of it before may have another start, and was received
// at another time. Labels aren't compared.
[[nodiscard]] bool are_of_one_session(const SessionRecord& one, SessionRecord other);

// A target whose start was made of the receipt seals its first rows in an hour long before its session: they belong
// into that in which it began. The batch is then sealed anew, but only if it is as it was sealed: the rest is refused
// when it is admitted.
void move_into_session(BatchUntrusted& batch, const SessionRecord& session);

}  // namespace perfleet
