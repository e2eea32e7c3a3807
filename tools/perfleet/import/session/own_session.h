// Admits a session that this process describes.
#pragma once

#include "schemas/session/session_record.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

// The record as a gateway would read it: labels sorted, texts within limits. Errors: those of hello_of() and
// admit_hello().
[[nodiscard]] Result<SessionRecord> admit_own(const SessionRecord& record);

}  // namespace perfleet
