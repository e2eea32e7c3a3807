// What a target is called and known by.
#pragma once

#include <string>
#include <string_view>

#include "schemas/vocabulary/ids.h"

namespace perfleet {

// FNV-1a with 64 bits over the name's bytes (offset basis 0xcbf29ce484222325, prime 0x100000001b3): the same name is
// the same target, on every machine and after every start.
[[nodiscard]] TargetId target_id_of(std::string_view name);

// gethostname(2); "unknown" when it fails.
[[nodiscard]] std::string host_name();

// 128 random bits of the kernel, never none.
[[nodiscard]] SessionId new_session_id();

}  // namespace perfleet
