// Reads small files of the kernel (/proc, /sys, tracefs), whose size isn't known in advance, and lists their folders.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/host/file_descriptor.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

// Reads the whole file. Errors: as errno says, naming `path`; kTooLarge beyond `size_bytes_max`.
[[nodiscard]] Result<std::string> read_small_file(const std::string& path, std::size_t size_bytes_max);

// Visits the lines of a file of any length, as far as it can be read. Of a line above kVisitedLineSizeBytesMax the rest
// is a line of its own. Errors: as errno says, naming `path`.
inline constexpr std::size_t kVisitedLineSizeBytesMax = 64U << 10U;
[[nodiscard]] Result<Done> visit_lines(const std::string& path, const std::function<void(std::string_view)>& visitor);

// Opens a regular file for reading; empty for anything else, which isn't opened, because opening a device can have
// effects.
[[nodiscard]] FileDescriptor open_regular_file(const std::string& path, struct stat& status);

// The file's first integer (decimal, may be negative); empty if it can't be read or has none.
[[nodiscard]] std::optional<long long> read_integer_file(const std::string& path);

// Names in a folder, ascending; none if it can't be read. The number is limited to that of a folder of /sys.
[[nodiscard]] std::vector<std::string> names_in_folder(const std::string& folder);

}  // namespace perfleet
