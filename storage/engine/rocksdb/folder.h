// The folder of a store, and the temporary folder of a reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "schemas/host/file_descriptor.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/non_copyable.h"

namespace perfleet {

// Only for the store's owner: stacks and command lines are private. An existing folder keeps its mode.
inline constexpr unsigned kStoreFolderMode = 0700;
inline constexpr unsigned kStoreFileMode = 0600;

// Creates the folder, durably, or checks that it can be a store's: writable, and empty or with a database in it.
// Errors: kInvalid (not a folder, or a folder of other files), kPermission, kIo.
[[nodiscard]] Result<Done> prepare_writer_folder(const std::string& directory);

// Whether another process has the store open for writing; much cheaper than trying to open it. Must not be called by
// the process that has it open, which would lose its lock.
[[nodiscard]] bool has_writer(const std::string& directory);

// Errors: kNotFound (no folder, or no database in it), kInvalid (not a folder), kPermission.
[[nodiscard]] Result<Done> check_reader_folder(const std::string& directory);

// A store's folder, held open: no other folder gets its inode number, so a replacement is noticed.
class HeldFolder {
public:
    explicit HeldFolder(const std::string& directory);

    // Whether this folder is still at the path, with a database in it; true if it could not be opened.
    // Errors: where the disk can't be read.
    [[nodiscard]] Result<bool> is_still_at(const std::string& directory) const;

    // Closes it, so that its disk can be unmounted.
    void let_go();
    // Opens the folder at the path again if it is the same one, also after its disk was mounted again.
    [[nodiscard]] bool take_up(const std::string& directory);

private:
    FileDescriptor held_;
    std::string identity_;
};

// Opens a file for reading; empty if it isn't a regular file: a folder or a pipe counts as a missing file, and opening
// a pipe must not block.
[[nodiscard]] FileDescriptor open_regular_file(const std::filesystem::path& path);

// The content of a regular file of at most this size.
inline constexpr std::size_t kReadFileSizeBytesMax = 128U << 20;
[[nodiscard]] std::optional<std::string> read_regular_file(const std::filesystem::path& path);

// Whether something other than a regular file has this name.
[[nodiscard]] bool is_no_regular_file(const std::filesystem::path& path);

// Renames the file to its name plus `.damaged`; does nothing if it doesn't exist. Errors: those of rename(2).
[[nodiscard]] Result<Done> set_aside(const std::string& directory, const std::string& name);

// The names in a folder that end so, in any order; an error ends the list.
[[nodiscard]] std::vector<std::string> names_in(const std::string& directory, std::string_view ending,
                                                std::error_code& error);

// The size of all files in a folder whose names end so.
[[nodiscard]] std::uint64_t size_of_files(const std::string& directory, std::string_view ending);

// Names of the write-ahead logs, oldest first: their numbers have six digits or more.
struct ByNumber {
    bool operator()(const std::string& a, const std::string& b) const {
        return a.size() != b.size() ? a.size() < b.size() : a < b;
    }
};
using LogFiles = std::set<std::string, ByNumber>;
[[nodiscard]] LogFiles log_files(const std::string& directory);
// Whether all logs of `before` still exist.
[[nodiscard]] bool has_all(const LogFiles& logs, const LogFiles& before);

// A new folder in the system's folder for temporary files, removed with its contents by the destructor. It is locked
// while it is used, so that the folder of a killed process can be recognised.
class TemporaryFolder : NonCopyable {
public:
    // Errors name TMPDIR: kPermission, kFull, kIo (also if TMPDIR doesn't exist; never kNotFound, which readers take
    // for a missing store).
    [[nodiscard]] static Result<std::unique_ptr<TemporaryFolder>> make(const std::string& prefix);

    // Removes unlocked folders with this prefix. Very new ones are kept: they may not be locked yet.
    static void remove_abandoned(const std::string& prefix);

    ~TemporaryFolder();

    [[nodiscard]] const std::string& path() const { return path_; }

private:
    TemporaryFolder(std::string path, FileDescriptor lock) : path_{std::move(path)}, lock_{std::move(lock)} {}

    std::string path_;
    FileDescriptor lock_;
};

}  // namespace perfleet
