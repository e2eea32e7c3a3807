// What a target is called and known by.
#pragma once

#include <string>

#include "schemas/vocabulary/ids.h"

namespace perfleet {

// gethostname(2); "unknown" when it fails.
[[nodiscard]] std::string host_name();

// 128 random bits of the kernel, never none.
[[nodiscard]] SessionId new_session_id();

}  // namespace perfleet
