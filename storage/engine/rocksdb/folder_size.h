// How much room a folder takes and has, as the file system tells it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace perfleet {

struct FolderSize {
    std::uint64_t used_bytes = 0;  // on disk, of all files below it
    std::uint64_t free_bytes = 0;  // that this user may still write there
};

// Files that come and go meanwhile may be in it or not. Nothing when the folder can't be read. Costs a call a file.
[[nodiscard]] std::optional<FolderSize> size_of_folder(const std::string& path);

}  // namespace perfleet
