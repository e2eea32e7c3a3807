// Encodes a session's record as the Hello of a collector.
#pragma once

#include <cstddef>
#include <vector>

#include "schemas/session/session_record.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

// Errors: kTooLarge (past limits::kHelloSizeBytesMax, kEventsMax or kLabelsMax).
[[nodiscard]] Result<std::vector<std::byte>> hello_of(const SessionRecord& record);

}  // namespace perfleet
