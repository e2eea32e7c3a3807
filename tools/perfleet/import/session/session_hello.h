// Encodes a session's record as the Hello of a collector.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "storage/model/session.h"

namespace perfleet {

// Errors: kTooLarge (past limits::kHelloSizeBytesMax, kEventsMax or kLabelsMax).
[[nodiscard]] Result<std::vector<std::byte>> hello_of(const SessionRecord& record);

// The record as a gateway would read it: labels sorted, texts within limits. Errors: those of hello_of() and
// admit_hello().
[[nodiscard]] Result<SessionRecord> admit_own(const SessionRecord& record);

}  // namespace perfleet
