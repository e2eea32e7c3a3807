// Reading the kernel's small text files (/proc, /sys, tracefs), whose size isn't known before, and their folders.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "schemas/host/file_descriptor.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

// The whole file. Errors: as errno says, naming `path`; kTooLarge beyond `size_bytes_max`.
[[nodiscard]] Result<std::string> read_small_file(const std::string& path, std::size_t size_bytes_max);

// Opens a regular file for reading; empty for anything else, which isn't even opened: that alone can do something to a
// device.
[[nodiscard]] FileDescriptor open_regular_file(const std::string& path, struct stat& status);

// Its first integer (decimal, may be negative); empty when the file can't be read or holds none.
[[nodiscard]] std::optional<long long> read_integer_file(const std::string& path);

// What is in a folder, ascending; none where it can't be read, and no more than a folder of /sys may hold.
[[nodiscard]] std::vector<std::string> names_in_folder(const std::string& folder);

}  // namespace perfleet
