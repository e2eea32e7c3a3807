#include "storage/engine/rocksdb/folder_size.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <filesystem>

namespace perfleet {

std::optional<FolderSize> size_of_folder(const std::string& path) {
    constexpr std::uint64_t kBlockSizeBytes = 512;  // unit of st_blocks on every file system
    FolderSize size;
    struct statvfs system {};
    if (statvfs(path.c_str(), &system) != 0) {
        return std::nullopt;
    }
    size.free_bytes = static_cast<std::uint64_t>(system.f_bavail) * system.f_frsize;
    std::error_code error;
    auto entry = std::filesystem::recursive_directory_iterator{path, error};
    while (!error && entry != std::filesystem::recursive_directory_iterator{}) {
        struct stat status {};
        if (lstat(entry->path().c_str(), &status) == 0) {
            size.used_bytes += static_cast<std::uint64_t>(status.st_blocks) * kBlockSizeBytes;
        }
        entry.increment(error);
    }
    return size;
}

}  // namespace perfleet
