// Reads and writes of files and pipes that continue after signals and short calls. Hosts only. If fewer bytes were read
// or written than requested, errno has the reason; 0: end of the file.
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

// Reads to the end of the file, but at most `size_bytes_max` + 1 bytes. Empty: it can't be read.
[[nodiscard]] std::optional<std::string> read_rest(int fd, std::size_t size_bytes_max);

// Resolves a path whose last part may be a chain of symbolic links. Links that neither this user nor root made aren't
// followed: otherwise anyone who can write to a folder like /tmp could choose the file that is written. A path that
// doesn't exist is returned unchanged. Errors: kPermission (such a link), those of lstat(2) and readlink(2).
[[nodiscard]] Result<std::string> follow_own_links(const std::string& path);

// Makes created, renamed and deleted names in a folder durable. Errors: those of open(2) and fsync(2).
[[nodiscard]] Result<Done> sync_folder(const std::string& path);

}  // namespace perfleet
