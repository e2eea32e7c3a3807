// The space that a folder uses and that is free, as the file system reports it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace perfleet {

struct FolderSize {
    std::uint64_t used_bytes = 0;  // on disk, of all files below it
    std::uint64_t free_bytes = 0;  // that this user may still use there
};

// Files that appear or vanish meanwhile may or may not count. Nothing if the folder can't be read. One stat call per
// file.
[[nodiscard]] std::optional<FolderSize> size_of_folder(const std::string& path);

}  // namespace perfleet
