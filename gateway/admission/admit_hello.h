// Makes the stored description of a session from a collector's Hello.
#pragma once

#include "gateway/admission/untrusted.h"
#include "schemas/session/session_record.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

// Checks texts, labels (keys unique; sorted by key here), events, clock and host against their limits. The record has
// the session id of the Hello; an empty one asks the gateway to grant an id. Errors: kTooLarge (past a limit),
// kUnsupported (another protocol version), kInvalid.
[[nodiscard]] Result<SessionRecord> admit_hello(const HelloUntrusted& hello_untrusted);

}  // namespace perfleet
