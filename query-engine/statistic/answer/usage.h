// Makes the error for wrong options of a command.
#pragma once

#include <string>

#include "schemas/vocabulary/error.h"

namespace perfleet {

[[nodiscard]] inline Error usage(const std::string& message) { return Error{ErrorCode::kUsage, message}; }

}  // namespace perfleet
