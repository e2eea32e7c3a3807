// Errors on hosts: a code for the program, and a sentence for people that names the file, key, offset or option and the
// way out. Not freestanding.
#pragma once

#include <string>
#include <utility>

#include "schemas/vocabulary/result.h"

namespace perfleet {

struct Error {
    ErrorCode code{};
    std::string message;
};

[[nodiscard]] inline Error invalid(std::string what) { return Error{ErrorCode::kInvalid, std::move(what)}; }

template <class T>
using Result = BasicResult<T, Error>;

// "what: <text of errno>", with kPermission, kNotFound, kBusy, kFull or kIo as errno says.
[[nodiscard]] Error error_from_errno(int errno_value, std::string what);

// A freestanding fault with a sentence in front: "what: truncated at 12 (value 7)".
[[nodiscard]] Error error_from_fault(const Fault& fault, std::string what);

}  // namespace perfleet
