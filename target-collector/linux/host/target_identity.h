// Name and ids of the target and its session.
#pragma once

#include <string>

#include "schemas/vocabulary/ids.h"

namespace perfleet {

// gethostname(2); "unknown" when it fails.
[[nodiscard]] std::string host_name();

// 128 random bits of the kernel, never all zero.
[[nodiscard]] SessionId new_session_id();

}  // namespace perfleet
