// What is wrong with how a command was asked.
#pragma once

#include <string>

#include "schemas/vocabulary/error.h"

namespace perfleet {

[[nodiscard]] inline Error usage(const std::string& message) { return Error{ErrorCode::kUsage, message}; }

}  // namespace perfleet
