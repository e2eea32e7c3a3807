// Reading the kernel's small text files (/proc, /sys, tracefs), whose size isn't known before.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "schemas/vocabulary/error.h"

namespace perfleet {

// The whole file. Errors: as errno says, naming `path`; kTooLarge beyond `size_bytes_max`.
[[nodiscard]] Result<std::string> read_small_file(const std::string& path, std::size_t size_bytes_max);

// Its first integer (decimal, may be negative); empty when the file can't be read or holds none.
[[nodiscard]] std::optional<long long> read_integer_file(const std::string& path);

}  // namespace perfleet
