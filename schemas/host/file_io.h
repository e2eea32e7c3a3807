// Reads and writes of files and pipes that neither signals nor short calls cut. Hosts only. When less was done than
// asked for, errno says why; 0: the file that is read ends there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "schemas/vocabulary/error.h"

namespace perfleet {

[[nodiscard]] std::size_t read_all(int fd, std::span<std::byte> into);
[[nodiscard]] std::size_t read_all_at(int fd, std::uint64_t offset, std::span<std::byte> into);
[[nodiscard]] bool write_all(int fd, std::span<const std::byte> bytes);
[[nodiscard]] bool write_all_at(int fd, std::uint64_t offset, std::span<const std::byte> bytes);

// Reads to the end of the file, or one byte more than `size_bytes_max` if it is longer. Empty: it can't be read.
[[nodiscard]] std::optional<std::string> read_rest(int fd, std::size_t size_bytes_max);

// Where a name leads whose last part may be a symbolic link, or several. A link that neither this user nor root made
// isn't followed: whoever may write to a folder like /tmp would choose which file is written. A name that leads nowhere
// is given as it is. Errors: kPermission (such a link), those of lstat(2) and readlink(2).
[[nodiscard]] Result<std::string> follow_own_links(const std::string& path);

// Names that were created, renamed and deleted in a folder are on disk. Errors: those of open(2) and fsync(2).
[[nodiscard]] Result<Done> sync_folder(const std::string& path);

}  // namespace perfleet
