// Keeps data derived from files (unwind tables, symbols) in a folder, by build-id, for later sessions.
//
//   BUILD-ID-VERSION.KIND   crc32c u32 of what follows | 0 u32 | what is kept
//
// VERSION depends on the file (device, inode, size, times of change) and on its separate debug file: a file with a
// forged build-id can neither use nor replace the data of another file. Damaged entries are made again. The least
// recently used entry is removed first; other files in the folder are left alone. Nothing is kept of files without a
// build-id.
//
// A resource. Any thread; other collectors may use the folder meanwhile, each within the bound.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/host/file_descriptor.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

class FileCache {
public:
    static constexpr std::uint64_t kSizeBytesMax = 256U << 20U;  // of all files
    static constexpr std::size_t kFilesMax = 8'192;

    static constexpr std::string_view kUnwindTable = "unwind";
    static constexpr std::string_view kSymbols = "symbols";

    // Creates the folder if it is missing. Errors: kPermission if other users may write to it, and as errno says.
    [[nodiscard]] static Result<std::shared_ptr<FileCache>> open(const std::string& folder);
    // Of this user: $CACHE_DIRECTORY (of systemd), $XDG_CACHE_HOME/perfleet, else ~/.cache/perfleet. Null: there is
    // none, or it can't be used.
    [[nodiscard]] static std::shared_ptr<FileCache> open_default();

    // The name of a file's entry; empty if the file has no build-id.
    [[nodiscard]] static std::string name_of(int fd, std::string_view kind);

    // Empty: there is no such entry, or it is damaged.
    [[nodiscard]] std::optional<std::string> read(const std::string& name, std::size_t size_bytes_max);
    // Errors are ignored.
    void keep(const std::string& name, std::string_view content);

    [[nodiscard]] std::uint64_t size_bytes() const;
    [[nodiscard]] std::uint64_t hit_count() const;

private:
    struct KeptFile {
        std::uint64_t size_bytes = 0;
        std::int64_t used_ns = 0;  // UTC
    };

    explicit FileCache(FileDescriptor folder);
    void list();
    // Call with mutex_ locked.
    void make_room(std::uint64_t size_bytes);
    void remove(const std::string& name);

    FileDescriptor folder_;
    mutable std::mutex mutex_;
    std::map<std::string, KeptFile> files_;
    std::uint64_t size_bytes_ = 0;
    std::uint64_t hit_count_ = 0;
};

}  // namespace perfleet
