// From what a collector says of itself to the session that is stored.
#pragma once

#include "gateway/admission/untrusted.h"
#include "schemas/vocabulary/error.h"
#include "storage/model/session.h"

namespace perfleet {

// Checks texts, labels (sorted by key here, keys unique), events, clock and host against their limits. The record's
// session is that of the Hello: none when the gateway is to grant one. Errors: kTooLarge (past a limit), kUnsupported
// (another protocol version), kInvalid.
[[nodiscard]] Result<SessionRecord> admit_hello(const HelloUntrusted& hello_untrusted);

}  // namespace perfleet
